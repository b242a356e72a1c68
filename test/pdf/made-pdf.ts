import { deflateSync } from 'node:zlib';

/** A stream: entries of its dictionary without Length, and its bytes as they are written. */
export interface MadeStream {
  readonly entries: string;
  readonly bytes: Uint8Array;
}

/** Objects by their numbers, each as text where each character is a byte, or as a stream. */
export type MadeObjects = Readonly<Record<number, string | MadeStream>>;

/** How the cross-reference is written: a hybrid has its object streams in a stream that its table names. */
export type Shape = 'TABLE' | 'STREAM' | 'OBJECT_STREAMS' | 'HYBRID';

export interface MadeOptions {
  readonly shape?: Shape;
  readonly version?: string;
  /** More entries of the trailer. */
  readonly trailer?: string;
  /** Of a cross-reference table. */
  readonly entryBytes?: 19 | 20;
  /** Streams of the file's structure are compressed. */
  readonly isCompressed?: boolean;
  /** Instead of the right Size. */
  readonly size?: number;
  /** Objects that stay out of object streams. */
  readonly outside?: readonly number[];
}

type Entry = { readonly offset: number } | { readonly stream: number; readonly index: number };

/** Writes a PDF file whose catalog is object 1. */
export function madePdf(objects: MadeObjects, options: MadeOptions = {}): Buffer {
  const { version = '1.7' } = options;
  return withRevision(Buffer.from(`%PDF-${version}\n%\xe2\xe3\xcf\xd3\n`, 'latin1'), objects, options, undefined);
}

/** Appends a revision to a file. */
export function revised(pdf: Uint8Array, objects: MadeObjects, options: MadeOptions = {}): Buffer {
  const text = Buffer.from(pdf).toString('latin1');
  return withRevision(pdf, objects, options, Number(/startxref\s+(\d+)\s+%%EOF\s*$/.exec(text)?.[1]));
}

function withRevision(pdf: Uint8Array, objects: MadeObjects, options: MadeOptions, previous: number | undefined): Buffer {
  const { shape = 'TABLE', trailer = '', entryBytes = 20, isCompressed = false, outside = [] } = options;
  const written: Buffer[] = [Buffer.from(pdf)];
  let length = pdf.length;
  const write = (piece: string | Uint8Array): void => {
    const bytes = Buffer.from(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
    written.push(bytes);
    length += bytes.length;
  };
  const entries = new Map<number, Entry>();
  const indirect = (number: number, object: string | MadeStream): void => {
    entries.set(number, { offset: length });
    write(`${number} 0 obj\n`);
    if (typeof object === 'string') write(object);
    else {
      write(`<<${object.entries} /Length ${object.bytes.length}>>\nstream\n`);
      write(object.bytes);
      write('\nendstream');
    }
    write('\nendobj\n');
  };
  const packed = (content: string): MadeStream =>
    isCompressed
      ? { entries: '/Filter /FlateDecode', bytes: deflateSync(Buffer.from(content, 'latin1')) }
      : { entries: '', bytes: Buffer.from(content, 'latin1') };
  const numbers = Object.keys(objects).map(Number);
  let next = Math.max(...numbers, previous === undefined ? 0 : highestIn(pdf)) + 1;
  const inStream: [number, string][] = [];
  for (const number of numbers) {
    const object = objects[number] ?? 'null';
    const isPacked = (shape === 'OBJECT_STREAMS' || shape === 'HYBRID') && typeof object === 'string' && !outside.includes(number);
    if (isPacked) inStream.push([number, object]);
    else indirect(number, object);
  }
  const hidden = new Map<number, Entry>();
  if (inStream.length > 0) {
    let body = '';
    const heads = inStream.map(([number, object], index) => {
      hidden.set(number, { stream: next, index });
      const head = `${number} ${body.length}`;
      body += `${object} `;
      return head;
    });
    const head = `${heads.join(' ')} `;
    const { entries: filter, bytes } = packed(head + body);
    indirect(next, { entries: `/Type /ObjStm /N ${inStream.length} /First ${head.length} ${filter}`, bytes });
    next += 1;
  }
  const size = (): number => options.size ?? next;
  const shared = (): string => `/Size ${size()} /Root 1 0 R ${trailer}${previous === undefined ? '' : ` /Prev ${previous}`}`;
  const stream = (all: ReadonlyMap<number, Entry>, own: number): void => {
    const start = length;
    const rows = new Map<number, Entry>([...all, [own, { offset: start }]]);
    const ranges = rangesOf([0, ...rows.keys()]);
    const content = ranges
      .flatMap(([first, count]) => Array.from({ length: count }, (_, index) => rowOf(rows.get(first + index))))
      .join('');
    const { entries: filter, bytes } = packed(content);
    const index = ranges.map(([first, count]) => `${first} ${count}`).join(' ');
    indirect(own, { entries: `/Type /XRef /W [1 4 2] /Index [${index}] ${shared()} ${filter}`, bytes });
  };
  let start: number;
  if (shape === 'STREAM' || shape === 'OBJECT_STREAMS') {
    start = length;
    next += 1;
    stream(new Map([...entries, ...hidden]), next - 1);
  } else {
    let hiddenAt: number | undefined;
    if (shape === 'HYBRID') {
      hiddenAt = length;
      next += 1;
      stream(hidden, next - 1);
      entries.delete(next - 1);
    }
    start = length;
    write(tableOf(entries, entryBytes));
    write(`trailer\n<<${shared()}${hiddenAt === undefined ? '' : ` /XRefStm ${hiddenAt}`}>>\n`);
  }
  write(`startxref\n${start}\n%%EOF\n`);
  return Buffer.concat(written);
}

function highestIn(pdf: Uint8Array): number {
  const sizes = Buffer.from(pdf)
    .toString('latin1')
    .matchAll(/\/Size (\d+)/g);
  return Math.max(...Array.from(sizes, ([, size]) => Number(size))) - 1;
}

function rangesOf(numbers: readonly number[]): (readonly [first: number, count: number])[] {
  const ranges: [number, number][] = [];
  for (const number of [...new Set(numbers)].toSorted((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[0] + last[1] === number) last[1] += 1;
    else ranges.push([number, 1]);
  }
  return ranges;
}

function rowOf(entry: Entry | undefined): string {
  const row = Buffer.alloc(7);
  if (entry === undefined) row.writeUInt16BE(65_535, 5);
  else {
    row[0] = 'offset' in entry ? 1 : 2;
    row.writeUInt32BE('offset' in entry ? entry.offset : entry.stream, 1);
    row.writeUInt16BE('offset' in entry ? 0 : entry.index, 5);
  }
  return row.toString('latin1');
}

function tableOf(entries: ReadonlyMap<number, Entry>, entryBytes: 19 | 20): string {
  const end = entryBytes === 20 ? ' \n' : '\n';
  let table = 'xref\n';
  for (const [first, count] of rangesOf([0, ...entries.keys()])) {
    table += `${first} ${count}\n`;
    for (let number = first; number < first + count; number += 1) {
      const entry = entries.get(number);
      const isInFile = entry !== undefined && 'offset' in entry;
      table += `${String(isInFile ? entry.offset : 0).padStart(10, '0')} ${isInFile ? '00000 n' : '65535 f'}${end}`;
    }
  }
  return table;
}

/** Objects of a file that has a little of everything: its numbers go up to 16. */
export function usualObjects(): MadeObjects {
  const content = deflateSync(Buffer.from('BT /F1 24 Tf 72 700 Td (Contract: PAY 100) Tj ET'));
  return {
    1: '<</Type /Catalog /Pages 2 0 R /AcroForm 9 0 R /Names <</Dests <</Names []>>>> /Lang (en)>>',
    2: '<</Type /Pages /Kids [3 0 R 4 0 R] /Count 3 /MediaBox [0 0 612 792] /Resources 8 0 R>>',
    3: '<</Type /Page /Parent 2 0 R /Contents 7 0 R /Annots [10 0 R 12 0 R]>>',
    4: '<</Type /Pages /Parent 2 0 R /Kids [5 0 R 6 0 R] /Count 2 /Rotate 90>>',
    5: '<</Type /Page /Parent 4 0 R /Contents [7 0 R] /CropBox [10 10 500 600] /Annots 13 0 R>>',
    6: '<</Type /Page /Parent 4 0 R /Rotate -90 /UserUnit 2 /MediaBox [0 0 300.5 400]>>',
    7: { entries: '/Filter /FlateDecode', bytes: content },
    8: '<</Font <</F1 14 0 R>> /ProcSet [/PDF /Text]>>',
    9: '<</Fields [10 0 R 11 0 R] /DR <</Font <</F1 14 0 R>>>> /DA (/F1 0 Tf 0 g)>>',
    10: '<</Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (J\\351r\\364me \\(1\\)) /Rect [72 600 200 620] /P 3 0 R /F 4>>',
    11: '<</T (seals) /FT /Sig /Kids [12 0 R]>>',
    12: '<</Type /Annot /Subtype /Widget /Parent 11 0 R /T <FEFF0031> /Rect [72 500 200 560] /P 3 0 R /F 4>>',
    13: '[]',
    14: '<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>',
    15: '<</Title (A contract) /Producer (hand)>>',
    16: '<</Creator (no one)>>',
  };
}
