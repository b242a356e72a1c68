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
  const listed = valuesByName(binding, naming);
  for (const document of documents) {
    if (!(await isListed(document, listed.get(naming === 'by ID' ? document.id : '')?.entries() ?? [], digests))) return false;
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

/** Digests by ID (or by the empty one) and hash, in hexadecimal: lists may have thousands of them. */
function valuesByName(binding: readonly BoundDigest[], naming: Naming): ReadonlyMap<string, ReadonlyMap<HashName, ReadonlySet<string>>> {
  const byName = new Map<string, Map<HashName, Set<string>>>();
  for (const { id, hash, value } of binding) {
    const name = naming === 'by ID' ? id : '';
    const byHash = byName.get(name) ?? new Map<HashName, Set<string>>();
    const values = byHash.get(hash) ?? new Set<string>();
    byName.set(name, byHash.set(hash, values.add(Buffer.from(value).toString('hex'))));
  }
  return byName;
}

/** Checks whether a document has one of the digests. */
async function isListed(
  document: InputDocument,
  listed: Iterable<readonly [HashName, ReadonlySet<string>]>,
  digests: DocumentDigests,
): Promise<boolean> {
  for (const [hash, values] of listed) {
    const digest = await digests.of(document, hash);
    if (digest !== undefined && values.has(Buffer.from(digest).toString('hex'))) return true;
  }
  return false;
}

function nameOf({ id, hash, value }: BoundDigest): string {
  return `${hash} ${Buffer.from(value).toString('hex')} ${id}`;
}
