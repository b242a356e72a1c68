import { createHash, hash as digestOf } from 'node:crypto';
import type { Content } from '../documents/content.ts';
import { contentPieces } from '../documents/content-pieces.ts';
import type { HashName } from '../token/signature-algorithm.ts';

/** The digest of content, read piece by piece. @throws {Fault} CONTENT_CHANGED */
export function hashContent(hash: HashName, content: Content): Buffer {
  if (content instanceof Uint8Array) return digestOf(hash, content, 'buffer');
  const digest = createHash(hash);
  for (const piece of contentPieces(content)) digest.update(piece);
  return digest.digest();
}
