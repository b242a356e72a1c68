import { randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { signPdf } from '../signatures/pades/sign-pdf.ts';
import { madePdf, revised, usualObjects, type MadeObjects, type MadeOptions, type MadeStream } from './made-pdf.ts';
import { qpdf } from './qpdf.ts';

/** A file with its password. */
export interface GivenPdf {
  readonly bytes: Buffer;
  readonly password?: string | undefined;
  /** What it was made of, so that it can be made again with changed objects and right offsets. */
  readonly made?: { readonly objects: MadeObjects; readonly options: MadeOptions };
}

/** Files of each kind: cross-references, revisions, signed ones, tagged ones, encrypted ones. */
export function soundPdfs(): readonly GivenPdf[] {
  const shapes: readonly MadeOptions[] = [
    { shape: 'TABLE', trailer: '/Info 15 0 R /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]' },
    { shape: 'TABLE', entryBytes: 19, version: '1.4' },
    { shape: 'STREAM' },
    { shape: 'OBJECT_STREAMS', version: '2.0' },
    { shape: 'OBJECT_STREAMS', isCompressed: true },
    { shape: 'HYBRID', outside: [1, 2, 3] },
  ];
  const made = shapes.map((options) => madePdf(usualObjects(), options));
  const twice = shapes.map((options, index) =>
    revised(made[index] ?? Buffer.alloc(0), { 13: '[10 0 R]', 16: '<</Creator (someone)>>' }, { ...options, trailer: '' }),
  );
  const taggedObjects = {
    ...usualObjects(),
    1: '<</Type /Catalog /Pages 2 0 R /MarkInfo <</Marked true>> /StructTreeRoot 16 0 R /AcroForm <</Fields []>>>>',
    15: '<</Type /StructElem /S /Document /P 16 0 R /K []>>',
    16: '<</Type /StructTreeRoot /K 15 0 R /ParentTree <</Nums [0 15 0 R]>> /ParentTreeNextKey 1>>',
  };
  const tagged = madePdf(taggedObjects);
  const signed = [made[0], made[3]].map((one) => signPdf(one ?? Buffer.alloc(0)));
  const encrypted = [['40'], ['128', '--use-aes=n'], ['128', '--use-aes=y'], ['256']].map(([bits = '', ...more], index): GivenPdf => ({
    bytes: qpdf(made[0] ?? Buffer.alloc(0), [
      ...['--allow-weak-crypto', `--object-streams=${index === 2 ? 'generate' : 'preserve'}`],
      ...['--encrypt', 'user', 'owner', bits, ...more, '--'],
    ]),
    password: 'user',
  }));
  const again = shapes.map((options, index) => ({ bytes: made[index] ?? Buffer.alloc(0), made: { objects: usualObjects(), options } }));
  const taggedAgain = { bytes: tagged, made: { objects: taggedObjects, options: {} } };
  return [
    ...again,
    ...again,
    taggedAgain,
    taggedAgain,
    ...[...made, ...twice, tagged, ...signed].map((bytes) => ({ bytes })),
    ...encrypted,
  ];
}

/** What is changed, at a place that is counted in thousandths of its possible places. */
export interface Change {
  readonly kind:
    | 'FLIP'
    | 'INSERT'
    | 'REMOVE'
    | 'REPEAT'
    | 'SWAP'
    | 'NUMBER'
    | 'KEY_NUMBER'
    | 'REFERENCE'
    | 'NAME'
    | 'KEYWORD'
    | 'OBJECT_TWICE'
    | 'TRUNCATE';
  readonly at: number;
  readonly other: number;
  readonly length: number;
}

export const changeKinds: readonly Change['kind'][] = [
  ...(['FLIP', 'FLIP', 'INSERT', 'INSERT', 'REMOVE', 'REPEAT', 'SWAP', 'NUMBER', 'NUMBER'] as const),
  ...(['KEY_NUMBER', 'KEY_NUMBER', 'KEY_NUMBER', 'REFERENCE', 'REFERENCE', 'REFERENCE', 'NAME', 'NAME'] as const),
  ...(['KEYWORD', 'OBJECT_TWICE', 'TRUNCATE'] as const),
];

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom(...changeKinds),
  at: fc.nat(),
  other: fc.nat(),
  length: fc.integer({ min: 1, max: 60 }),
});

export const changes: fc.Arbitrary<readonly Change[]> = fc.array(change, { minLength: 1, maxLength: 3 });

const numbers = [
  ...['0', '1', '2', '3', '4', '-1', '7', '8', '16', '17', '255', '256', '65535', '65536', '99999999', '2147483647', '4294967296'],
  ...[
    '9007199254740993',
    '99999999999999999999',
    '1.5',
    '-0',
    '.',
    '+',
    '--1',
    '00000',
    `1${'0'.repeat(80)}`,
    '0.0000000001',
    'null',
    '[]',
  ],
];
const snippets = [
  ...['<<', '>>', '[', ']', '(', ')', '<', '>', '/', '%', '\\', ' ', '\n', '\r', '\0', '\x0c', 'R', ' 0 R', ' obj', 'endobj', 'stream\n'],
  ...[
    'endstream',
    'xref\n',
    'trailer',
    'startxref',
    '%%EOF',
    'null',
    'true',
    '(\\',
    '(\\9',
    '<g>',
    '#',
    '/A#',
    '/#00',
    '{',
    '}',
    '\xff\xfe',
  ],
  ...['[['.repeat(120), '<</A '.repeat(120), '/Type /Catalog', '/Encrypt 3 0 R', '/Filter /LZWDecode', '/Filter [/A85 /Fl]', '/F (x)'],
  ...['/Length 14 0 R', '/Kids [2 0 R]', '/Prev 15', '/DecodeParms <</Predictor 12 /Columns 99999>>', '/Extends 3 0 R', '/V 12 0 R'],
  ...['/Filter /constructor', '/__proto__ 1', '/Perms <</DocMDP 12 0 R>>', '/MarkInfo <</Marked true>>', '/StructTreeRoot 2 0 R'],
];
const keys = ['Prev', 'Length', 'Size', 'W', 'Index', 'First', 'N', 'Count', 'XRefStm', 'startxref', 'Rotate', 'P', 'V', 'Ff', 'Predictor'];
const names = [
  ...['Type', 'Page', 'Pages', 'Catalog', 'Kids', 'Parent', 'Annots', 'AcroForm', 'Fields', 'Root', 'Encrypt', 'ObjStm', 'XRef', 'Filter'],
  ...[
    'DecodeParms',
    'FT',
    'Sig',
    'Tx',
    'T',
    'V',
    'Lock',
    'Perms',
    'DocMDP',
    'Contents',
    'ByteRange',
    'Length',
    'Extends',
    'MediaBox',
    'Rect',
  ],
  ...['FlateDecode', 'LZWDecode', 'ASCII85Decode', 'ASCIIHexDecode', 'RunLengthDecode', 'Crypt', 'StructTreeRoot', 'MarkInfo', 'K', 'ID'],
];
const keywords = /\b(?:obj|endobj|stream|endstream|xref|trailer|startxref|R|n|f|true|false|null)\b/g;

/**
 * Changes a file as they say, with knowledge of what a PDF consists of: its objects before it is
 * made, if it can be made again, else its bytes.
 */
export function changed({ bytes, made }: GivenPdf, all: readonly Change[]): Buffer {
  if (made === undefined) return all.reduce(changedOnce, bytes);
  const objects: Record<number, string | MadeStream> = { ...made.objects };
  const places = Object.keys(objects).map(Number);
  for (const one of all) {
    const number = places[one.at % places.length] ?? 1;
    const object = objects[number] ?? '';
    const within = (text: string): string =>
      changedOnce(Buffer.from(text, 'latin1'), { ...one, at: one.other, other: one.at }).toString('latin1');
    objects[number] = typeof object === 'string' ? within(object) : { ...object, entries: within(object.entries) };
  }
  return madePdf(objects, made.options);
}

function changedOnce(bytes: Buffer, { kind, at, other, length }: Change): Buffer {
  const place = at % (bytes.length + 1);
  const end = Math.min(bytes.length, place + length);
  const text = (): string => bytes.toString('latin1');
  const replaced = (pattern: RegExp, by: string): Buffer => {
    const found = Array.from(text().matchAll(pattern));
    const match = found[at % Math.max(1, found.length)];
    return match === undefined ? bytes : spliced(bytes, match.index, match.index + match[0].length, by);
  };
  const one = (list: readonly string[]): string => list[other % list.length] ?? '';
  if (kind === 'FLIP') return spliced(bytes, place, place + 1, String.fromCharCode((bytes[place] ?? 0) ^ (1 << (other % 8))));
  if (kind === 'INSERT') return spliced(bytes, place, place, one(snippets));
  if (kind === 'REMOVE') return spliced(bytes, place, end, '');
  if (kind === 'REPEAT') return spliced(bytes, place, place, bytes.toString('latin1', place, end));
  if (kind === 'TRUNCATE') return bytes.subarray(0, bytes.length - (at % Math.max(1, bytes.length >> (other % 8))));
  if (kind === 'SWAP') {
    const from = other % (bytes.length + 1);
    return spliced(bytes, place, end, bytes.toString('latin1', from, Math.min(bytes.length, from + length)));
  }
  if (kind === 'NUMBER') return replaced(/\d+/g, one(numbers));
  if (kind === 'KEY_NUMBER')
    return replaced(new RegExp(String.raw`(?<=${one(keys)}[\s[]*)-?\d+`, 'g'), numbers[length % numbers.length] ?? '');
  if (kind === 'REFERENCE') return replaced(/\b\d+ \d+ R\b/g, `${other % 22} 0 R`);
  if (kind === 'NAME') return replaced(/(?<=\/)\w+/g, one(names));
  if (kind === 'KEYWORD') return replaced(keywords, one(['', 'obj', 'endobj', 'R', 'f', 'n', 'null', 'endstream']));
  const objects = Array.from(text().matchAll(/\d+ 0 obj[^]*?endobj\n/g));
  const object = objects[at % Math.max(1, objects.length)];
  return object === undefined ? bytes : spliced(bytes, object.index, object.index, object[0]);
}

function spliced(bytes: Buffer, start: number, end: number, by: string): Buffer {
  return Buffer.concat([bytes.subarray(0, start), Buffer.from(by, 'latin1'), bytes.subarray(end)]);
}

/** Bytes that have nothing of a PDF but its beginning and its end. */
export function noise(): Buffer {
  return Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(2000), Buffer.from('\nstartxref\n9\n%%EOF\n')]);
}
