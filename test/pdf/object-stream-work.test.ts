import { expect, it } from 'vitest';
import { PdfReference } from '../../src/pdf/objects.ts';
import { madePdf, usualObjects } from './made-pdf.ts';
import { opened } from './opened.ts';

it('objects of an object stream count as work by their length, each time they are read', () => {
  const long = `(${'x'.repeat(100_000)})`;
  const file = opened(madePdf({ ...usualObjects(), 9: long, 10: long, 11: long }, { shape: 'OBJECT_STREAMS' }));
  file.object(new PdfReference(9, 0));
  expect(file.bytes.work.isQuick).toBe(true);
  for (const number of [10, 11]) file.object(new PdfReference(number, 0));
  expect(file.bytes.work.isQuick).toBe(false);
});
