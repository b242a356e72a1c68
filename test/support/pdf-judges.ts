import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What poppler's pdfsig says of a signature. */
export interface JudgedSignature {
  readonly field: string;
  /** Such as ETSI.CAdES.detached. */
  readonly type: string;
  /** `Signature is Valid.`, or why it is not. */
  readonly validation: string;
  /** The signature covers the whole file. */
  readonly coversAll: boolean;
}

/**
 * Returns the signatures of a PDF as pdfsig judges them, in its order, without fields that are not signed. Certificates are not judged.
 * `password`: the user's or the owner's; pdfsig reads 32 bytes of it at most.
 */
export function pdfSignatures(pdf: Uint8Array, password?: string): readonly JudgedSignature[] {
  const said = inFile(
    pdf,
    (path) => run('pdfsig', ['-nocert', ...(password === undefined ? [] : ['-upw', password, '-opw', password]), path]).stdout,
  );
  return said
    .split(/^Signature #\d+:$/m)
    .slice(1)
    .filter((part) => !part.includes('The signature form field is not signed.'))
    .map((part) => ({
      field: after(part, 'Signature Field Name'),
      type: after(part, 'Signature Type'),
      validation: after(part, 'Signature Validation'),
      coversAll: /^ {2}- Total document signed$/m.test(part),
    }));
}

/** Returns the errors and warnings of `qpdf --check`, with nothing that names the file. */
export function qpdfFindings(pdf: Uint8Array, password?: string): readonly string[] {
  return inFile(pdf, (path) => {
    const options = password === undefined ? [] : [`--password=${password}`];
    const { stderr } = run('qpdf', ['--check', ...options, path]);
    return stderr
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('qpdf: operation succeeded'))
      .map((line) => line.replaceAll(path, 'the file'));
  });
}

function after(text: string, label: string): string {
  return new RegExp(`^ {2}- ${label}: (.*)$`, 'm').exec(text)?.[1] ?? '';
}

function run(program: string, options: readonly string[]): { readonly stdout: string; readonly stderr: string } {
  const { stdout, stderr, error } = spawnSync(program, options, { encoding: 'utf8', timeout: 60_000 });
  if (error !== undefined) throw error;
  return { stdout, stderr };
}

function inFile<T>(pdf: Uint8Array, judge: (path: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-pdf-'));
  try {
    const path = join(directory, 'document.pdf');
    writeFileSync(path, pdf);
    return judge(path);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
