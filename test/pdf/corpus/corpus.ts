import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Refusal } from '../../../src/result-codes.ts';
import { signPdf } from '../../signatures/pades/sign-pdf.ts';
import { pdfSignatures, qpdfFindings } from '../../support/pdf-judges.ts';
import { damagedFiles } from './damaged.ts';
import { producedFiles, type CorpusFile } from './producers.ts';

/** What became of a file: it was signed, or refused with a message, or something is wrong. */
type Outcome = { readonly kind: 'SIGNED' } | { readonly kind: 'REFUSED' | 'WRONG'; readonly why: string };

const refusals = ['DOCUMENT_INVALID', 'NOT_PERMITTED_BY_DOCUMENT'];
/** Far more than any of them takes. */
const fileMaxMs = 30_000;

function outcomeOf(file: CorpusFile): Outcome {
  const { bytes, password } = file;
  const start = performance.now();
  let signed: Buffer;
  try {
    signed = signPdf(bytes, {}, password === undefined ? {} : { password });
  } catch (error) {
    if (error instanceof Refusal && refusals.includes(error.code) && error.message !== '') {
      const isSlow = performance.now() - start > fileMaxMs;
      return isSlow ? { kind: 'WRONG', why: 'its refusal took too long' } : { kind: 'REFUSED', why: `${error.code} ${error.message}` };
    }
    return { kind: 'WRONG', why: error instanceof Error ? String(error.stack) : String(error) };
  }
  if (performance.now() - start > fileMaxMs) return { kind: 'WRONG', why: 'its signature took too long' };
  if (!signed.subarray(0, bytes.length).equals(bytes)) return { kind: 'WRONG', why: 'it is not a prefix of its signed form' };
  // What damaged files are to others may differ, but not between the two forms.
  const kinds = (pdf: Buffer): Set<string> => new Set(qpdfFindings(pdf, password).map((finding) => finding.replaceAll(/\d+/g, '#')));
  const before = kinds(bytes);
  const added = [...kinds(signed)].filter((finding) => !before.has(finding));
  if (added.length > 0) return { kind: 'WRONG', why: `qpdf: ${added.join('; ')}` };
  const [signature, ...others] = pdfSignatures(signed, password);
  if (signature?.validation !== 'Signature is Valid.' || others.length > 0)
    return { kind: 'WRONG', why: `pdfsig: ${JSON.stringify([signature, ...others])}` };
  if (!signature.coversAll) return { kind: 'WRONG', why: 'pdfsig: the signature does not cover everything' };
  if (textOf(bytes, password) !== textOf(signed, password)) return { kind: 'WRONG', why: 'pdftotext: the text is another one' };
  return { kind: 'SIGNED' };
}

function textOf(pdf: Buffer, password: string | undefined): string {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-text-'));
  try {
    writeFileSync(join(directory, 'one.pdf'), pdf);
    const options = password === undefined ? [] : ['-upw', password];
    return spawnSync('pdftotext', [...options, join(directory, 'one.pdf'), '-'], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }).stdout;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const [directory = mkdtempSync(join(tmpdir(), 'signetd-corpus-')), python = 'python3'] = process.argv.slice(2);
const files = [...producedFiles(directory, python, (text) => process.stdout.write(`${text}\n`)), ...damagedFiles()];
const counts = new Map<string, { signed: number; refused: number; wrong: number }>();
const refused = new Map<string, number>();
for (const file of files) {
  const outcome = outcomeOf(file);
  const count = counts.get(file.producer) ?? { signed: 0, refused: 0, wrong: 0 };
  counts.set(file.producer, count);
  if (outcome.kind === 'SIGNED') count.signed += 1;
  else if (outcome.kind === 'REFUSED') {
    count.refused += 1;
    const line = `${file.producer}: ${outcome.why.replaceAll(/\d{3,}/g, '#')}`;
    refused.set(line, (refused.get(line) ?? 0) + 1);
  } else {
    count.wrong += 1;
    process.stdout.write(`WRONG ${file.producer} ${file.name}: ${outcome.why}\n`);
  }
}
process.stdout.write(`${files.length} files in ${directory}\n`);
for (const [producer, { signed, refused: no, wrong }] of counts)
  process.stdout.write(`${producer.padEnd(12)} ${signed} signed, ${no} refused, ${wrong} wrong\n`);
for (const [line, count] of refused) process.stdout.write(`${String(count).padStart(4)} refused: ${line}\n`);
process.stdout.write(`peak memory: ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB\n`);
process.exitCode = [...counts.values()].some(({ wrong }) => wrong > 0) || files.length < 300 ? 1 : 0;
