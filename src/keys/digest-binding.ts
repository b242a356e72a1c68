import { z } from 'zod';
import { contentDigest } from '../documents/content-digest.ts';
import type { InputDocument } from '../documents/document.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
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
export async function coversDocuments(
  binding: DigestBinding,
  documents: readonly InputDocument[],
  threads: WorkThreads | undefined,
): Promise<boolean> {
  if (binding === undefined) return true;
  for (const { id, source } of documents) {
    if (
      !(await covers(
        binding.filter((entry) => entry.id === id),
        source,
        threads,
      ))
    )
      return false;
  }
  return true;
}

/** The document is hashed once for each hash, however many entries the list has of it. */
async function covers(
  entries: readonly BoundDigest[],
  source: InputDocument['source'],
  threads: WorkThreads | undefined,
): Promise<boolean> {
  for (const hash of new Set(entries.map((entry) => entry.hash))) {
    const digest = await digestOf(source, hash, threads);
    if (entries.some((entry) => entry.hash === hash && equal(entry.value, digest))) return true;
  }
  return false;
}

/** Whether every entry of the list is in the binding. */
export function coversDigests(binding: DigestBinding, digests: readonly BoundDigest[]): boolean {
  if (binding === undefined) return true;
  return digests.every(({ id, hash, value }) =>
    binding.some((entry) => entry.id === id && entry.hash === hash && equal(entry.value, value)),
  );
}

async function digestOf(
  source: InputDocument['source'],
  hash: HashName,
  threads: WorkThreads | undefined,
): Promise<Uint8Array | undefined> {
  if ('content' in source) return contentDigest(source.content, hash, threads);
  return source.digest.hash === hash ? source.digest.value : undefined;
}

function equal(left: Uint8Array, right: Uint8Array | undefined): boolean {
  return right !== undefined && Buffer.compare(left, right) === 0;
}
