import { PdfDictionary, type PdfObject, type PdfReference } from '../../../../../src/pdf/objects.ts';
import type { Revision } from '../../../../../src/pdf/revision.ts';
import { stream } from '../revised-pdf.ts';
import { nameOf as name } from './parts.ts';

/** A place of a value, and what has it there. Undefined: what it has without the value. */
export type Place<T> = readonly [place: string, make: (revision: Revision, extra: PdfObject | undefined) => T];

export function dictionary(entries: Readonly<Record<string, PdfObject>>): PdfDictionary {
  return PdfDictionary.of(entries);
}

/** Returns entries with a value, if there is one. */
export function having(key: string, extra: PdfObject | undefined): Record<string, PdfObject> {
  return extra === undefined ? {} : { [key]: extra };
}

export function listed(extra: PdfObject | undefined): PdfObject[] {
  return extra === undefined ? [] : [extra];
}

export function formXObject(revision: Revision, more: Readonly<Record<string, PdfObject>> = {}): PdfReference {
  return revision.add(stream('q Q', { Type: name('XObject'), Subtype: name('Form'), BBox: [0, 0, 9, 9], ...more }));
}

/** Values of AP. */
export const appearances: readonly Place<PdfObject>[] = [
  ['AP', (revision, extra) => extra ?? dictionary({ N: formXObject(revision) })],
  ['AP, an object, /D', (revision, extra) => revision.add(dictionary({ N: formXObject(revision), ...having('D', extra) }))],
  ['AP/N', (revision, extra) => dictionary({ N: extra ?? formXObject(revision) })],
  ['AP/N/On', (revision, extra) => dictionary({ N: dictionary({ Off: formXObject(revision), ...having('On', extra) }) })],
  ['AP/R', (revision, extra) => dictionary({ N: formXObject(revision), ...having('R', extra) })],
  [
    'AP/D/X',
    (revision, extra) => dictionary({ N: formXObject(revision), ...(extra === undefined ? {} : { D: dictionary({ X: extra }) }) }),
  ],
  [
    'AP/D/X/X',
    (revision, extra) =>
      dictionary({ N: formXObject(revision), ...(extra === undefined ? {} : { D: dictionary({ X: dictionary({ X: extra }) }) }) }),
  ],
  ['AP/X', (revision, extra) => dictionary({ N: formXObject(revision), ...having('X', extra) })],
  ...['Resources', 'Group', 'OC', 'X'].map((key): Place<PdfObject> => [
    `AP/N, ${key} of the form`,
    (revision, extra) => dictionary({ N: formXObject(revision, having(key, extra)) }),
  ]),
  ...['XObject', 'Font', 'Properties', 'ProcSet'].map((key): Place<PdfObject> => [
    `AP/N, a resource in ${key}`,
    (revision, extra) => {
      const resource = dictionary({ [key]: dictionary(having('Y', extra)) });
      return dictionary({ N: formXObject(revision, { Resources: resource }) });
    },
  ]),
];
