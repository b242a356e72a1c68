/** Runs in a work thread. */
import { createHash } from 'node:crypto';
import type { HashName } from '../token/signature-algorithm.ts';
import type { Content } from './content.ts';
import { contentPieces } from './content-pieces.ts';

export interface DigestTask {
  readonly content: Content;
  readonly hash: HashName;
}

/** @throws {Fault} CONTENT_CHANGED */
export function digest({ content, hash }: DigestTask): Uint8Array {
  const hashing = createHash(hash);
  for (const piece of contentPieces(content)) hashing.update(piece);
  return Uint8Array.from(hashing.digest());
}
