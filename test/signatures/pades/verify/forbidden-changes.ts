import { PdfDictionary, PdfName, type PdfObject } from '../../../../src/pdf/objects.ts';
import type { Revision } from '../../../../src/pdf/revision.ts';
import { textString } from '../../../../src/pdf/text-string.ts';
import { changing, reference, revised, stream } from './revised-pdf.ts';
import { numbers } from './rich-pdf.ts';

/** A change that no signature allows, by its name. */
export type Forbidden = (revision: Revision) => void;

type Entries = Readonly<Record<string, PdfObject>>;

const name = (text: string): PdfName => new PdfName(text);
const dictionary = (entries: Entries): PdfDictionary => PdfDictionary.of(entries);
const other = stream('BT /F1 24 Tf 60 700 Td (PAY 999999) Tj ET');
const entry =
  (number: number, entries: Entries): Forbidden =>
  (revision) =>
    changing(revision, reference(number), entries);

/** Changes of all kinds of objects that no signature allows. */
export const forbidden: Readonly<Record<string, Forbidden>> = {
  'contents of a page': (revision) => revision.set(reference(numbers.contents), other),
  'a page': (revision) => changing(revision, reference(numbers.page), { Contents: revision.add(other) }),
  'a page whose contents are a list': (revision) => changing(revision, reference(numbers.otherPage), { Contents: [revision.add(other)] }),
  'the page tree': entry(numbers.pages, { MediaBox: [0, 0, 9, 9] }),
  'a page more': (revision) => {
    const page = revision.add(dictionary({ Type: name('Page'), Parent: reference(2), Contents: revision.add(other) }));
    changing(revision, reference(numbers.pages), { Kids: [page, reference(4), reference(6)], Count: 3 });
  },
  'the catalog': entry(numbers.catalog, { OpenAction: dictionary({ S: name('JavaScript'), JS: textString('app.alert(1)') }) }),
  layers: entry(numbers.layers, { D: dictionary({ OFF: [] }) }),
  'the state of layers': entry(numbers.layerState, { OFF: [] }),
  'a layer': entry(numbers.layer, { Name: textString('Final') }),
  'a picture of a page': (revision) =>
    revision.set(reference(numbers.picture), stream('0 0 600 800 re f', { Subtype: name('Form'), BBox: [0, 0, 600, 800] })),
  'a font': entry(numbers.font, { BaseFont: name('Symbol') }),
  resources: entry(numbers.resources, { XObject: new PdfDictionary() }),
  'a group': entry(numbers.group, { I: true }),
  'a link': entry(numbers.link, { A: dictionary({ S: name('URI'), URI: textString('https://example.com') }) }),
  names: entry(numbers.names, { JavaScript: new PdfDictionary() }),
  'the form': entry(numbers.form, { DA: textString('/F1 0 Tf 1 g') }),
  'the place of a field': entry(numbers.text, { Rect: [0, 0, 600, 800] }),
  'a signature field': entry(numbers.place, { T: textString('Another') }),
  'an element of the structure': entry(numbers.paragraph, { ActualText: textString('PAY 999999') }),
  'the parents of the structure': entry(numbers.parents, { Nums: [0, [reference(41)]] }),
  'the appearance of a field alone': (revision) =>
    revision.set(reference(numbers.otherForm), stream('0 0 9 9 re f', { Subtype: name('Form'), BBox: [0, 0, 150, 30] })),
};

/**
 * Returns a signed `richPdf` with a change that is not allowed. `touched`: the catalog, to which an extra reference can lead, is
 * changed as is allowed.
 */
export function withForbidden(pdf: Buffer, change: Forbidden, touched: boolean): Buffer {
  return revised(pdf, (revision) => {
    change(revision);
    if (touched) changing(revision, reference(numbers.catalog), { Version: name('2.0') });
  });
}
