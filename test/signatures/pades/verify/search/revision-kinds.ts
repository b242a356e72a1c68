import { bytesInMemory } from '../../../../../src/asn1/byte-source.ts';
import { objectText } from '../../../../../src/pdf/object-text.ts';
import { PdfDictionary, PdfName, PdfStream, type PdfObject, type PdfReference } from '../../../../../src/pdf/objects.ts';
import { PdfFile } from '../../../../../src/pdf/pdf-file.ts';
import { Revision } from '../../../../../src/pdf/revision.ts';

/**
 * How a revision is written: as this service does, which goes by the file; with a table; with a
 * cross-reference stream and all that can be in an object stream.
 */
export type RevisionKind = 'USUAL' | 'TABLE' | 'PACKED';

/** Appends a revision to a file. */
export type Append = (pdf: Uint8Array, change: (revision: Revision) => void) => Buffer;

export function appendAs(kind: RevisionKind): Append {
  return (pdf, change) => {
    const revision = new RecordedRevision(new PdfFile(bytesInMemory(pdf)));
    change(revision);
    const appended = kind === 'USUAL' ? revision.write().bytes : written(revision, pdf.length, kind);
    return Buffer.concat([pdf, appended]);
  };
}

class RecordedRevision extends Revision {
  readonly objects = new Map<number, { readonly generation: number; readonly object: PdfObject }>();

  override set(reference: PdfReference, object: PdfObject): void {
    super.set(reference, object);
    this.objects.set(reference.number, { generation: reference.generation, object });
  }
}

type Entry = readonly [kind: number, second: number, third: number];

function written(revision: RecordedRevision, start: number, kind: 'TABLE' | 'PACKED'): Buffer {
  const pieces: Buffer[] = [Buffer.from('\n')];
  let length = start + 1;
  const entries = new Map<number, Entry>();
  const write = (piece: Uint8Array): void => {
    pieces.push(Buffer.from(piece));
    length += piece.length;
  };
  const indirect = (number: number, generation: number, object: PdfObject): void => {
    entries.set(number, [1, length, generation]);
    const bytes = object instanceof PdfStream && object.encoded instanceof Uint8Array ? object.encoded : undefined;
    const body = object instanceof PdfStream ? object.dictionary.with({ Length: bytes?.length }) : object;
    write(Buffer.from(`${number} ${generation} obj\n${objectText(body)}\n`, 'latin1'));
    if (bytes !== undefined) for (const piece of [Buffer.from('stream\n'), bytes, Buffer.from('\nendstream\n')]) write(piece);
    write(Buffer.from('endobj\n'));
  };
  const packed: [number, PdfObject][] = [];
  for (const [number, { generation, object }] of revision.objects)
    if (kind === 'TABLE' || object instanceof PdfStream || generation > 0) indirect(number, generation, object);
    else packed.push([number, object]);
  const base = revision.file.base;
  const { trailer, sections } = revision.file.crossReference;
  const next = revision.reserve().number;
  if (packed.length > 0) {
    const bodies = packed.map(([, object]) => `${objectText(object)} `);
    let at = 0;
    const head = packed.map(([number], index) => `${number} ${(at += index === 0 ? 0 : (bodies[index - 1]?.length ?? 0))} `).join('');
    const dictionary = PdfDictionary.of({ Type: new PdfName('ObjStm'), N: packed.length, First: head.length });
    for (const [index, [number]] of packed.entries()) entries.set(number, [2, next, index]);
    indirect(next, 0, new PdfStream(dictionary, Buffer.from(head + bodies.join(''), 'latin1')));
  }
  const kept = Object.fromEntries(['Root', 'Info', 'ID'].map((key) => [key, trailer.get(key)]));
  const place = length - base;
  const size = next + 2;
  const more = PdfDictionary.of({ ...kept, Size: size, Prev: sections[0]?.offset });
  if (kind === 'TABLE') write(tableOf(entries, base, more));
  else {
    entries.set(next + 1, [1, length, 0]);
    const numbers = Array.from(entries.keys()).toSorted((one, other) => one - other);
    const rows = numbers.map((number) => {
      const [first, second, third] = entries.get(number) ?? [0, 0, 0];
      const row = Buffer.alloc(7);
      row[0] = first;
      row.writeUInt32BE(first === 1 ? second - base : second, 1);
      row.writeUInt16BE(third, 5);
      return row;
    });
    const shape = { Type: new PdfName('XRef'), W: [1, 4, 2], Index: numbers.flatMap((number) => [number, 1]) };
    indirect(next + 1, 0, new PdfStream(more.with(shape), Buffer.concat(rows)));
  }
  write(Buffer.from(`startxref\n${place}\n%%EOF\n`));
  return Buffer.concat(pieces);
}

function tableOf(entries: ReadonlyMap<number, Entry>, base: number, trailer: PdfDictionary): Buffer {
  let text = 'xref\n0 1\n0000000000 65535 f \n';
  for (const [number, [, offset, generation]] of entries)
    text += `${number} 1\n${String(offset - base).padStart(10, '0')} ${String(generation).padStart(5, '0')} n \n`;
  return Buffer.from(`${text}trailer\n${objectText(trailer)}\n`, 'latin1');
}
