import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { FileExtent } from './log-extent.ts';
import { manifestName, type Manifest, type Part } from './manifest.ts';
import { tarEnd, tarHeader, tarPadding } from '../tar/header.ts';

/** A part before it is written. */
export interface PartSource extends Omit<Part, 'sha256'> {
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * Yields the archive: the parts in order, and the manifest as its last file.
 * @param manifestOf makes the manifest once all parts are written
 * @param progress receives the bytes of parts written so far
 * @throws {Error} if a part does not have the size that was announced
 */
export async function* archiveOf(
  parts: AsyncIterable<PartSource>,
  manifestOf: (parts: readonly Part[]) => Manifest,
  progress: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const written: Part[] = [];
  let total = 0;
  for await (const { content, ...part } of parts) {
    yield tarHeader({ name: part.name, bytes: part.bytes, mode: 0o600, modifiedAt: now() });
    const digest = createHash('sha256');
    let bytes = 0;
    for await (const chunk of content) {
      bytes += chunk.length;
      if (bytes > part.bytes) break;
      digest.update(chunk);
      total += chunk.length;
      progress(total);
      yield chunk;
    }
    if (bytes !== part.bytes) throw new Error(`${part.path ?? part.name}: its size changed while it was read`);
    yield tarPadding(part.bytes);
    written.push({ ...part, sha256: digest.digest('hex') });
  }
  const manifest = Buffer.from(`${JSON.stringify(manifestOf(written), undefined, 2)}\n`);
  yield tarHeader({ name: manifestName, bytes: manifest.length, mode: 0o600, modifiedAt: now() });
  yield manifest;
  yield tarPadding(manifest.length);
  yield tarEnd;
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}

/** The bytes of a part that is in memory. */
export async function* bytesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield Promise.resolve(bytes);
}

/** The first bytes of a file, which may grow meanwhile. */
export function beginningOf({ path, bytes }: Pick<FileExtent, 'path' | 'bytes'>): AsyncIterable<Uint8Array> {
  return bytes === 0 ? bytesOf(Buffer.alloc(0)) : createReadStream(path, { end: bytes - 1, highWaterMark: 1 << 18 });
}
