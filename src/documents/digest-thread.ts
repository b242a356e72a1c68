/** Runs in a work thread. */
import { createHash } from 'node:crypto';
import type { HashName } from '../token/signature-algorithm.ts';

export interface DigestTask {
  readonly content: Uint8Array;
  readonly hash: HashName;
}

export function digest({ content, hash }: DigestTask): Uint8Array {
  return Uint8Array.from(createHash(hash).update(content).digest());
}
