import { bytesInMemory } from '../../../../src/asn1/byte-source.ts';
import { ObjectParser } from '../../../../src/pdf/object-parser.ts';
import type { PdfObject } from '../../../../src/pdf/objects.ts';
import type { DocMdpLevel } from '../../../../src/signatures/pades/signed-fields.ts';
import { Comparison } from '../../../../src/signatures/pades/verify/comparison.ts';
import { statesSince } from '../../../../src/signatures/pades/verify/file-states.ts';
import { madePdf, revised, usualObjects, type MadeObjects, type MadeStream } from '../../../pdf/made-pdf.ts';
import { opened } from '../../../pdf/opened.ts';

export const parsed = (text: string): PdfObject => new ObjectParser({ bytes: Buffer.from(text), offset: 0, isLast: true }).object();
export const stream = (entries: string, content = 'q Q'): MadeStream => ({ entries, bytes: Buffer.from(content) });
export const form = (entries = '', content = 'q Q'): MadeStream => stream(`/Type /XObject /Subtype /Form ${entries}`, content);
/** An object in the earlier revision, and what it is in the later one. */
export type Changes = Readonly<Record<number, readonly [string | MadeStream | undefined, (string | MadeStream)?]>>;

/** Compares two revisions of a file, which has no signatures. */
export function comparing(changes: Changes, level: DocMdpLevel = 2): Comparison {
  const all = Object.entries(changes);
  const objects = (index: 0 | 1): MadeObjects =>
    Object.fromEntries(all.flatMap(([number, states]) => (states[index] === undefined ? [] : [[number, states[index]]])));
  const before = madePdf({ ...usualObjects(), ...objects(0) });
  const after = revised(before, { 16: '<</Creator (someone)>>', ...objects(1) });
  return new Comparison(statesSince(bytesInMemory(after), opened(after), before.length, undefined), { level, locks: [] });
}
