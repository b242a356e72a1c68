import { spawnSync } from 'node:child_process';
import { madePdf, usualObjects } from '../pdf/made-pdf.ts';
import { qpdf } from '../pdf/qpdf.ts';
import { archivalPdf } from './archival-pdf.ts';

/** A PDF to sign. */
export interface PdfDocument {
  readonly bytes: Buffer;
  readonly password?: string;
}

/** Of the user, who may do everything. */
const userPassword = 'lecteur';
const passwords = [userPassword, 'auteur'];

const plain = madePdf(usualObjects());
const encrypted = (bits: string, ...options: string[]): PdfDocument => ({
  bytes: qpdf(plain, ['--allow-weak-crypto', '--encrypt', ...passwords, bits, ...options, '--']),
  password: userPassword,
});

/** Documents by their names, each made when it is asked for. The passwords of those with a name of a revision are encrypted by that one. */
const made = {
  table: () => ({ bytes: plain }),
  stream: () => ({ bytes: madePdf(usualObjects(), { shape: 'STREAM', version: '1.5', isCompressed: true }) }),
  'object-streams': () => ({ bytes: madePdf(usualObjects(), { shape: 'OBJECT_STREAMS', isCompressed: true }) }),
  // What older readers need is in the table.
  hybrid: () => ({ bytes: madePdf(usualObjects(), { shape: 'HYBRID', version: '1.4', outside: [1, 2, 3, 4, 5, 6, 9, 10, 11, 12] }) }),
  'pdf-2.0': () => ({ bytes: madePdf(usualObjects(), { shape: 'STREAM', version: '2.0', trailer: '/ID [<01> <02>]' }) }),
  linearised: () => ({ bytes: qpdf(plain, ['--linearize', '--object-streams=generate']) }),
  'rotated-and-cropped': () => ({
    bytes: madePdf({
      ...usualObjects(),
      3: '<</Type /Page /Parent 2 0 R /Contents 7 0 R /Rotate 270 /CropBox [20 30 500 700] /Annots [10 0 R 12 0 R]>>',
    }),
  }),
  'PDF/A-1b': () => ({ bytes: archivalPdf(1) }),
  'PDF/A-2b': () => ({ bytes: archivalPdf(2) }),
  'PDF/A-3b': () => ({ bytes: archivalPdf(3) }),
  R2: () => encrypted('40'),
  R3: () => encrypted('128', '--use-aes=n'),
  R4: () => encrypted('128', '--use-aes=y'),
  R5: () => encrypted('256', '--force-R5'),
  R6: () => encrypted('256'),
} as const satisfies Readonly<Record<string, () => PdfDocument>>;

/** A document with two signatures, which the service has made. */
export const signedTwice = 'signed-twice';

const hasQpdf = spawnSync('qpdf', ['--version']).status === 0;
const needQpdf: readonly string[] = ['linearised', 'R2', 'R3', 'R4', 'R5', 'R6'];
if (!hasQpdf) process.stderr.write(`qpdf is not installed: there are no PDF documents of these kinds: ${needQpdf.join(', ')}\n`);

type PdfName = keyof typeof made | typeof signedTwice;

export const pdfNames: readonly PdfName[] = [
  ...(Object.keys(made) as (keyof typeof made)[]).filter((name) => hasQpdf || !needQpdf.includes(name)),
  signedTwice,
];

const documents = new Map<string, PdfDocument>();

/** Returns a document by its name, the same each time. */
export function pdfDocument(name: Exclude<PdfName, typeof signedTwice>): PdfDocument {
  const known = documents.get(name) ?? made[name]();
  documents.set(name, known);
  return known;
}
