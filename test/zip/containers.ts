import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { contentPieces, type EvidencePiece, type OpenFile, type SignedFile } from '../../src/documents/content.ts';

const script = fileURLToPath(new URL('read-containers.py', import.meta.url));

const Entries = z.array(
  z.strictObject({
    name: z.string(),
    method: z.int(),
    flags: z.int(),
    bytes: z.int(),
    storedBytes: z.int(),
    contentAt: z.int(),
    extraBytes: z.int(),
    modified: z.string(),
    mode: z.string(),
    sha256: z.string(),
  }),
);
export type ReadEntry = z.infer<typeof Entries>[number];

/** The entries of containers as Python reads them. @throws if it does not */
export function readByPython(...paths: readonly string[]): ReadEntry[][] {
  return z.array(Entries).parse(JSON.parse(execFileSync('python3', [script], { input: JSON.stringify(paths), encoding: 'utf8' })));
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Writes pieces as they are delivered, one after the other. */
export function delivered(path: string, pieces: readonly EvidencePiece[]): string {
  const descriptor = openSync(path, 'w');
  try {
    for (const piece of pieces) for (const part of contentPieces(piece)) writeSync(descriptor, part);
  } finally {
    closeSync(descriptor);
  }
  return path;
}

/** A file with content that was signed; `opened` closes it. */
export function signedFile(path: string, content: Uint8Array, opened: (descriptor: number) => void): SignedFile {
  writeFileSync(path, content);
  const descriptor = openSync(path, 'r+');
  opened(descriptor);
  return signed({ descriptor, bytes: content.length }, content);
}

export function signed(file: OpenFile, content: Uint8Array): SignedFile {
  return { ...file, digest: { hash: 'sha256', value: createHash('sha256').update(content).digest() } };
}
