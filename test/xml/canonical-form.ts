import { canonicalise } from '../../src/xml/canonical-stream.ts';
import type { CanonicalPart } from '../../src/xml/canonical-part.ts';

/** Returns one canonical form of a document. */
export function canonicalForm(document: string | readonly Uint8Array[], part: Omit<CanonicalPart, 'write'>): string {
  return canonicalForms(document, [part])[0] ?? '';
}

/** Returns several canonical forms of a document, which are made in one pass. */
export function canonicalForms(document: string | readonly Uint8Array[], parts: readonly Omit<CanonicalPart, 'write'>[]): string[] {
  const chunks: Buffer[][] = parts.map(() => []);
  canonicalise(
    typeof document === 'string' ? [Buffer.from(document)] : document,
    parts.map((part, index) => ({ ...part, write: (bytes) => chunks[index]?.push(Buffer.from(bytes)) })),
  );
  return chunks.map((written) => Buffer.concat(written).toString());
}
