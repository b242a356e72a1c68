import { bytesInMemory } from '../../../../../src/asn1/byte-source.ts';
import { PdfReference, PdfStream, type PdfObject } from '../../../../../src/pdf/objects.ts';
import { PdfFile } from '../../../../../src/pdf/pdf-file.ts';
import { signPdfWith } from '../../sign-pdf.ts';
import { objectNumbers } from '../revised-pdf.ts';
import type { SearchedFile } from './corpus.ts';
import { partsOf, type Parts } from './parts.ts';
import { made, withoutPyhanko } from './pyhanko.ts';
import { appendAs, type Append } from './revision-kinds.ts';

/** A signed file. */
export interface Subject {
  /** File, who signed, and level. */
  readonly name: string;
  readonly level: 1 | 2 | 3 | undefined;
  readonly pdf: Buffer;
  readonly parts: Parts;
  readonly objects: readonly number[];
}

const levels = [undefined, 1, 2, 3] as const;

function subject(file: string, level: Subject['level'], pdf: Buffer, signer: string): Subject {
  const kind = level === undefined ? 'approved' : `level ${level}`;
  return { name: `${file}, ${kind} by ${signer}`, level, pdf, parts: partsOf(pdf), objects: objectNumbers(pdf) };
}

/**
 * Signs files, each as approved and on each level: by this service, and by pyHanko in a field that
 * is visible where it approves. `faults`: those that pyHanko does not sign.
 */
export function subjectsOf(files: readonly SearchedFile[], directory: string): { subjects: readonly Subject[]; faults: readonly string[] } {
  const own = files.flatMap(({ name, bytes }) =>
    levels.map((level) => {
      const parameters = level === undefined ? {} : { docMDPLevel: `LEVEL_${level}` };
      return subject(name, level, signPdfWith(bytes, parameters), 'us');
    }),
  );
  if (withoutPyhanko !== undefined) return { subjects: own, faults: [] };
  const orders = files.flatMap(({ name, bytes }) =>
    levels.map((level) => ({ name, level, pdf: bytes, order: level === undefined ? { box: [20, 20, 120, 60] } : { level } })),
  );
  const signed = made(directory, 'sign', orders);
  const faults: string[] = [];
  const others = orders.flatMap(({ name, level }, index) => {
    const pdf = signed[index];
    if (typeof pdf === 'object') return [subject(name, level, pdf, 'pyHanko')];
    faults.push(`${name}: ${pdf ?? 'nothing'}`);
    return [];
  });
  return { subjects: [...own, ...others], faults };
}

/** How a revision has an object as its extra value: by a reference, as a copy that is new, or as it is. */
export type ValueKind = 'REFERENCE' | 'COPY' | 'DIRECT';

const streamMaxBytes = 16 * 1024 * 1024;

/** Returns a file, with the copy if there is one, and the value. */
export function withValue(pdf: Buffer, number: number, kind: ValueKind, append: Append): readonly [pdf: Buffer, value: PdfObject] {
  const file = new PdfFile(bytesInMemory(pdf));
  const entry = file.crossReference.entry(number);
  const reference = new PdfReference(number, entry.kind === 'FILE' ? entry.generation : 0);
  if (kind === 'REFERENCE') return [pdf, reference];
  const object = file.object(reference);
  if (kind === 'DIRECT' && !(object instanceof PdfStream)) return [pdf, object];
  const copy = object instanceof PdfStream ? new PdfStream(object.dictionary, file.encodedBytes(object, streamMaxBytes)) : object;
  let value: PdfObject = null;
  return [append(pdf, (revision) => (value = revision.add(copy))), value];
}

export const appends = { USUAL: appendAs('USUAL'), TABLE: appendAs('TABLE'), PACKED: appendAs('PACKED') };
