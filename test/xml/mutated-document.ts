import * as fc from 'fast-check';
import { randomDocument } from './random-document.ts';

type Change = readonly ['insert' | 'overwrite', at: number, text: string] | readonly ['remove' | 'repeat', at: number, length: number];

const snippets = [
  '<',
  '>',
  '</',
  '/>',
  '&',
  ';',
  '"',
  "'",
  '=',
  ' ',
  '\r',
  '\n',
  '\0',
  '\u{b}',
  ':',
  '-',
  '--',
  '-->',
  '<!--',
  ']',
  ']]>',
  '<![CDATA[',
  '<?',
  '?>',
  '<?xml ',
  '<a',
  '</a>',
  'xmlns="urn:a"',
  ' xmlns:p=""',
  ' p:a="1"',
  ' a="1"',
  '&#',
  '&#0;',
  '&#xD800;',
  '&#x110000;',
  '&x;',
  '<!DOCTYPE a>',
  'xml:',
  '\u{feff}',
  'é',
];

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(fc.constantFrom('insert' as const, 'overwrite' as const), fc.nat(), fc.constantFrom(...snippets)),
  fc.tuple(fc.constantFrom('remove' as const, 'repeat' as const), fc.nat(), fc.integer({ min: 1, max: 20 })),
);

/** Bytes that were a well-formed document before some were changed. */
export const mutatedDocument: fc.Arbitrary<Buffer> = fc
  .tuple(randomDocument, fc.array(change, { minLength: 1, maxLength: 2 }))
  .map(([{ xml }, changes]) => changes.reduce<Buffer>(changed, Buffer.from(xml)));

function changed(bytes: Buffer, [kind, place, what]: Change): Buffer {
  const at = place % (bytes.length + 1);
  if (typeof what === 'number') {
    const end = Math.min(bytes.length, at + what);
    return Buffer.concat([
      bytes.subarray(0, at),
      ...(kind === 'repeat' ? [bytes.subarray(at, end), bytes.subarray(at, end)] : []),
      bytes.subarray(end),
    ]);
  }
  const text = Buffer.from(what);
  return Buffer.concat([bytes.subarray(0, at), text, bytes.subarray(kind === 'overwrite' ? Math.min(bytes.length, at + text.length) : at)]);
}
