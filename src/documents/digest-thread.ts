/** Runs in a work thread. */
import { createHash } from 'node:crypto';
import type { HashName } from '../token/signature-algorithm.ts';
import type { Content } from './content.ts';
import { contentPieces } from './content-pieces.ts';

/** @throws {ContentChanged} */
export function digest({ content, hash }: { readonly content: Content; readonly hash: HashName }): Uint8Array {
  const hashing = createHash(hash);
  for (const piece of contentPieces(content)) hashing.update(piece);
  return hashing.digest();
}
