import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { levelFields, type Level } from './levels.ts';
import { pdfDocument, signedTwice, type PdfDocument } from './pades-documents.ts';
import { knownRefusal, nameOf, parametersOf, type PadesCombination } from './pades-matrix.ts';
import type { Sample } from './signatures.ts';
import type { KeyType, SigningService } from './signing-service.ts';

/** Makes the signature of a combination. Its file must begin with all of the document. PDF/A is written unsigned too, for comparison. */
export async function makePades(service: SigningService, directory: string, combination: PadesCombination): Promise<Sample[]> {
  const { format, level, keyType } = combination;
  const { bytes, password } = await documentOf(service, combination);
  const signed = await service.sign(keyType, parametersOf(combination), [{ bytes, fileName: 'contrat.pdf', password }]);
  const name = nameOf(combination);
  if (!signed.subarray(0, bytes.length).equals(bytes)) throw new Error(`${name}: the document is not as it was`);
  const file = join(directory, `${name}.pdf`);
  writeFileSync(file, signed);
  if (combination.document.startsWith('PDF/A'))
    writeFileSync(join(directory, `unsigned_${combination.document.replace('/', '')}.pdf`), bytes);
  const request = { file, trust: service.trust, ...(password === undefined ? {} : { password }) };
  const refusedBy = knownRefusal(combination);
  return [
    {
      ...(format === 'BASIC' ? { request: { ...request, plain: true }, plainLevel: level } : { request: { ...request, require: level } }),
      ...(refusedBy === undefined ? {} : { refusedBy }),
    },
  ];
}

async function documentOf(service: SigningService, { document, level }: PadesCombination): Promise<PdfDocument> {
  if (document !== signedTwice) return pdfDocument(document);
  // Validators want of all signatures in a file what its validation data and time-stamps promise.
  const earlier = level === 'B' ? 'T' : level;
  const known = twice.get(earlier) ?? signTwice(service, earlier);
  twice.set(earlier, known);
  return { bytes: await known };
}

const twice = new Map<Level, Promise<Buffer>>();

async function signTwice(service: SigningService, level: Level): Promise<Buffer> {
  const { bytes } = pdfDocument('stream');
  const keys: readonly KeyType[] = ['RSA-2048', 'P-256'];
  let signed = bytes;
  for (const [index, key] of keys.entries()) {
    const visibleSignature = { horizontalPosition: 'LEFT', verticalPosition: 'TOP', margin: 40, width: 160, height: 40 };
    const XP7Providers = index === 0 ? {} : { XP7Providers: { PXP7Parameters: { visibleSignature } } };
    signed = await service.sign(key, { XP7Signature: { XP7Format: 'PXP_7', ...levelFields(level), ...XP7Providers } }, [{ bytes: signed }]);
  }
  return signed;
}
