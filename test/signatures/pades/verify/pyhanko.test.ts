import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PdfDictionary, PdfName } from '../../../../src/pdf/objects.ts';
import { textString } from '../../../../src/pdf/text-string.ts';
import { skipNote } from '../../../support/skip-note.ts';
import { smallPdf } from '../../../support/small-pdf.ts';
import { keyPem } from '../../software-signer.ts';
import { signPdf, signPdfWith, usualSigner } from '../sign-pdf.ts';
import { withForm } from './form-pdf.ts';
import { addAnnotation, changing, findingOf, painted, reference, revised, stream } from './revised-pdf.ts';

const python = join(process.env['SIGNETD_TOOLS_CACHE'] ?? join(homedir(), '.cache/signetd-tools'), 'venv/bin/python');
const reason = existsSync(python) ? undefined : `there is no ${python}`;

function inDirectory<T>(work: (path: (name: string) => string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-pyhanko-'));
  try {
    return work((name) => join(directory, name));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function pyhanko(command: string, ...options: readonly string[]): string {
  return execFileSync(python, ['test/signatures/pades/verify/pyhanko-revisions.py', command, ...options], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

/** Returns a PDF with a revision by pyHanko. */
function byPyhanko(pdf: Uint8Array, command: 'sign' | 'fill', ...options: readonly string[]): Buffer {
  return inDirectory((path) => {
    const { pem, privateKey } = usualSigner();
    writeFileSync(path('in.pdf'), pdf);
    writeFileSync(path('key.pem'), keyPem(privateKey));
    writeFileSync(path('certificate.pem'), pem);
    const more = command === 'sign' ? [path('key.pem'), path('certificate.pem')] : options;
    pyhanko(command, path('in.pdf'), path('out.pdf'), ...more);
    return readFileSync(path('out.pdf'));
  });
}

/** Whether pyHanko accepts all signatures of each file, with what was changed after them. */
function accepts(pdfs: readonly Uint8Array[]): readonly boolean[] {
  return inDirectory((path) => {
    const paths = pdfs.map((pdf, index) => {
      writeFileSync(path(`${index}.pdf`), pdf);
      return path(`${index}.pdf`);
    });
    return pyhanko('judge', ...paths)
      .trim()
      .split('\n')
      .map((line) => Object.values(JSON.parse(line) as Record<string, { accepted: boolean }>).every(({ accepted }) => accepted));
  });
}

const level2 = (): Buffer => signPdfWith(withForm(), { docMDPLevel: 'LEVEL_2' });

const files: readonly (readonly [string, boolean, () => Buffer])[] = [
  ['one signature', true, () => signPdf(smallPdf())],
  ['three signatures', true, () => signPdf(signPdf(signPdf(smallPdf())))],
  [
    'a signature in an existing field of a certified document',
    true,
    () => signPdfWith(level2(), { visibleSignature: { signatureField: 'Place' } }),
  ],
  ['a field that pyHanko filled in', true, () => byPyhanko(signPdf(withForm()), 'fill', 'Amount', '250')],
  ['a field that pyHanko filled in on level 2', true, () => byPyhanko(level2(), 'fill', 'Amount', '250')],
  ['a signature by pyHanko', true, () => byPyhanko(signPdf(smallPdf()), 'sign')],
  ['a signature by pyHanko, then one by this service', true, () => signPdf(byPyhanko(smallPdf(), 'sign'), { validateSignatures: true })],
  ['other content', false, () => revised(signPdf(smallPdf()), (revision) => revision.set(reference(5), stream('q Q')))],
  [
    'another font',
    false,
    () => revised(signPdf(smallPdf()), (revision) => changing(revision, reference(3), { BaseFont: new PdfName('Symbol') })),
  ],
  [
    'an annotation on level 2',
    false,
    () =>
      revised(
        level2(),
        (revision) => void addAnnotation(revision, { Subtype: new PdfName('FreeText'), AP: PdfDictionary.of({ N: painted(revision) }) }),
      ),
  ],
  [
    'a field that is filled in on level 1',
    false,
    () =>
      revised(signPdfWith(withForm(), { docMDPLevel: 'LEVEL_1' }), (revision) => changing(revision, reference(12), { V: textString('9') })),
  ],
  [
    'a locked field',
    false,
    () => {
      const locked = signPdfWith(withForm({ field: '/Lock << /Action /All >>' }), { visibleSignature: { signatureField: 'Place' } });
      return revised(locked, (revision) => changing(revision, reference(12), { V: textString('9') }));
    },
  ],
];

describe.skipIf(reason !== undefined)(`pyHanko and this service judge alike${skipNote(reason)}`, () => {
  it('of what was changed after a signature', () => {
    const made = files.map(([name, expected, make]) => ({ name, expected, pdf: make() }));
    const theirs = accepts(made.map(({ pdf }) => pdf));
    const judged = made.map(({ name, pdf }, index) => ({ name, here: findingOf(pdf) === undefined, there: theirs[index] }));
    expect(judged).toEqual(made.map(({ name, expected }) => ({ name, here: expected, there: expected })));
  }, 120_000);
});
