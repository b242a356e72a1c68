import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bytesInMemory } from '../src/asn1/byte-source.ts';
import { contentPieces } from '../src/documents/content.ts';
import { PdfFile } from '../src/pdf/pdf-file.ts';
import { rectangleOf } from '../src/pdf/pages.ts';
import { padesEntry } from '../src/signatures/pades/pades-entry.ts';
import { signatureFields } from '../src/signatures/pades/signed-fields.ts';
import { XP7Signature } from '../src/signatures/request/xp7-signature.ts';
import { chainOf, documentOf, signingOf, softwareSigner, valueOf } from '../test/signatures/software-signer.ts';
import { makeCodePictures } from './code-pictures.ts';
import { documentFor, padesRequests, type PadesRequest } from './pades-requests.ts';
import { requestRules } from '../test/support/request-rules.ts';

/**
 * Makes the pictures of docs/pades.md from its requests, with pdftoppm (Debian package poppler-utils), and those of
 * docs/2d-doc.md.
 */
const now = new Date('2026-11-24T15:04:05Z');
const locale = { language: 'en', timeZone: 'Europe/Paris' } as const;
const signer = softwareSigner('Camille Martin');
const scratch = mkdtempSync(join(tmpdir(), 'signetd-pictures-'));
try {
  for (const request of padesRequests()) if (request.picture !== undefined) makePicture(request, request.picture);
  makeCodePictures(now);
} finally {
  rmSync(scratch, { recursive: true });
}

function makePicture(request: PadesRequest, picture: string): void {
  const signed = signedDocument(request);
  const pdf = join(scratch, 'signed.pdf');
  writeFileSync(pdf, signed);
  const target = fileURLToPath(new URL(`images/pades/${picture}`, import.meta.url));
  const area = picture.startsWith('page-') ? ['-r', '32'] : ['-r', '144', ...cropOf(signed)];
  execFileSync('pdftoppm', ['-png', '-singlefile', ...area, pdf, target]);
  process.stdout.write(`docs/images/pades/${picture}.png\n`);
}

function signedDocument(request: PadesRequest): Buffer {
  const asked = padesEntry.asked(XP7Signature.parse(request.xp7), { ...requestRules, locale });
  const plan = padesEntry.plan(asked, [], { key: { type: 'P-256' }, chain: chainOf(signer) });
  const [prepared] = padesEntry.format.prepare([documentOf(documentFor(request))], plan.parameters, chainOf(signer), { now });
  if (prepared === undefined) throw new Error('a document has its signature');
  const { content } = padesEntry.format.complete(prepared, valueOf(signer, prepared), signingOf(signer));
  return Buffer.concat(content.flatMap((piece) => Array.from(contentPieces(piece), (bytes) => Buffer.from(bytes))));
}

/** Returns the part of the page that has the signature, in pixels of 1/144 inch, with a margin. */
function cropOf(signed: Buffer): readonly string[] {
  const file = new PdfFile(bytesInMemory(signed), undefined);
  const [field] = signatureFields(file);
  const rectangle = rectangleOf(file, field?.dictionary.get('Rect') ?? null);
  if (rectangle === undefined) throw new Error('the signature is visible');
  const { left, bottom, right, top } = rectangle;
  const margin = 6;
  const pixels = (length: number): string => String(Math.round(length * 2));
  return [
    ...['-x', pixels(left - margin), '-y', pixels(842 - top - margin)],
    ...['-W', pixels(right - left + 2 * margin), '-H', pixels(top - bottom + 2 * margin)],
  ];
}
