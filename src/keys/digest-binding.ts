import { createHash } from 'node:crypto';
import { z } from 'zod';
import { contentPieces } from '../documents/content-pieces.ts';
import type { InputDocument } from '../documents/document.ts';
import { hashNames, type HashName } from '../token/signature-algorithm.ts';

/** The digest of a document that a key or a one-time password is for (interface, Digest entry). */
export interface BoundDigest {
  /** ID of the document. */
  readonly id: string;
  readonly hash: HashName;
  readonly value: Uint8Array;
}

/** The documents that may be signed; undefined: any. */
export type DigestBinding = readonly BoundDigest[] | undefined;

const Stored = z.array(z.strictObject({ id: z.string(), hash: z.enum(hashNames), value: z.base64() }));

/** As the state store holds a binding. */
export function bindingText(binding: DigestBinding): string | null {
  if (binding === undefined) return null;
  return JSON.stringify(binding.map(({ id, hash, value }) => ({ id, hash, value: Buffer.from(value).toString('base64') })));
}

/** @throws {Error} where the text is not one that `bindingText` wrote */
export function bindingOf(text: string | null): DigestBinding {
  if (text === null) return undefined;
  return Stored.parse(JSON.parse(text)).map(({ id, hash, value }) => ({ id, hash, value: Buffer.from(value, 'base64') }));
}

/**
 * Whether every document has its digest in the list under its ID. A document that is given as a digest is compared with entries of its own hash
 * alone.
 */
export function coversDocuments(binding: DigestBinding, documents: readonly InputDocument[]): boolean {
  if (binding === undefined) return true;
  return documents.every(({ id, source }) => {
    // Once for each hash, however many entries the list has of this document.
    const digests = new Map<HashName, Uint8Array | undefined>();
    const digestBy = (hash: HashName): Uint8Array | undefined => {
      if (!digests.has(hash)) digests.set(hash, digestOf(source, hash));
      return digests.get(hash);
    };
    return binding.some((entry) => entry.id === id && equal(entry.value, digestBy(entry.hash)));
  });
}

/** Whether every entry of the list is in the binding. */
export function coversDigests(binding: DigestBinding, digests: readonly BoundDigest[]): boolean {
  if (binding === undefined) return true;
  return digests.every(({ id, hash, value }) =>
    binding.some((entry) => entry.id === id && entry.hash === hash && equal(entry.value, value)),
  );
}

function digestOf(source: InputDocument['source'], hash: HashName): Uint8Array | undefined {
  if ('digest' in source) return source.digest.hash === hash ? source.digest.value : undefined;
  const digest = createHash(hash);
  for (const piece of contentPieces(source.content)) digest.update(piece);
  return digest.digest();
}

function equal(left: Uint8Array, right: Uint8Array | undefined): boolean {
  return right !== undefined && Buffer.compare(left, right) === 0;
}
