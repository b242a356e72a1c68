import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { DocumentDigests } from '../documents/document-digests.ts';
import type { InputDocument } from '../documents/document.ts';
import { hashNames, type HashName } from '../token/signature-algorithm.ts';

/**
 * The digest of a document to which a key or a one-time password is bound (interface, Digest
 * entry).
 */
export interface BoundDigest {
  /** ID of the document. */
  readonly id: string;
  readonly hash: HashName;
  readonly value: Uint8Array;
}

/** The documents that may be signed; undefined: any document. */
export type DigestBinding = readonly BoundDigest[] | undefined;

const Stored = z.array(z.strictObject({ id: z.string(), hash: z.enum(hashNames), value: z.base64() }));

/** Returns the binding as it is stored. */
export function bindingText(binding: DigestBinding): string | null {
  if (binding === undefined) return null;
  return JSON.stringify(binding.map(({ id, hash, value }) => ({ id, hash, value: Buffer.from(value).toString('base64') })));
}

/** Reads a stored binding. @throws {Error} if the text was not written by `bindingText` */
export function bindingOf(text: string | null): DigestBinding {
  if (text === null) return undefined;
  return Stored.parse(JSON.parse(text)).map(({ id, hash, value }) => ({ id, hash, value: Buffer.from(value, 'base64') }));
}

/**
 * Whether documents have the IDs of a binding, or none: an interface that does not name documents
 * compares their digests alone.
 */
export type Naming = 'by ID' | 'without ID';

/**
 * Checks whether the list has the digest of every document under its ID. A document that is given
 * as a digest is compared only with entries of the same hash.
 */
export async function coversDocuments(
  binding: DigestBinding,
  documents: readonly InputDocument[],
  digests: DocumentDigests,
  naming: Naming = 'by ID',
): Promise<boolean> {
  if (binding === undefined) return true;
  const byId = Map.groupBy(binding, ({ id }) => id);
  for (const document of documents) {
    const entries = naming === 'by ID' ? (byId.get(document.id) ?? []) : binding;
    if (!(await isListed(document, entries, digests))) return false;
  }
  return true;
}

/** Checks whether the binding contains every entry of the list. */
export function coversDigests(binding: DigestBinding, digests: readonly BoundDigest[], naming: Naming = 'by ID'): boolean {
  if (binding === undefined) return true;
  const name = (digest: BoundDigest): string => nameOf(naming === 'by ID' ? digest : { ...digest, id: '' });
  const bound = new Set(binding.map(name));
  return digests.every((digest) => bound.has(name(digest)));
}

/**
 * Returns the SHA-256 of the stored list, in hexadecimal: it replaces the list wherever the list is
 * too long.
 */
export function bindingHash(binding: readonly BoundDigest[]): string {
  return createHash('sha256')
    .update(bindingText(binding) ?? '')
    .digest('hex');
}

/** Checks one document against the entries that have its ID. */
async function isListed(document: InputDocument, entries: readonly BoundDigest[], digests: DocumentDigests): Promise<boolean> {
  for (const hash of new Set(entries.map((entry) => entry.hash))) {
    const digest = await digests.of(document, hash);
    if (digest !== undefined && entries.some((entry) => entry.hash === hash && Buffer.compare(entry.value, digest) === 0)) return true;
  }
  return false;
}

function nameOf({ id, hash, value }: BoundDigest): string {
  return `${hash} ${Buffer.from(value).toString('hex')} ${id}`;
}
