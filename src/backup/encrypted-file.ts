import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { ReadableStream } from 'node:stream/web';
import type { Decrypter, Encrypter } from 'age-encryption';
import { writeNewFile } from '../service/new-file.ts';
import { reasonOf } from '../telemetry/reason-of.ts';

/** For hundreds of recipients. */
const headerMaxBytes = 65_536;
/** What the last line of a header begins with. */
const headerEnd = '\n--- ';

export interface WrittenFile {
  readonly bytes: number;
  /** SHA-256 of the encrypted file, hexadecimal. */
  readonly sha256: string;
}

/**
 * Encrypts a stream into a new file (format age v1, age-encryption.org/v1), mode 0600. The file gets
 * its name when it is whole and on disk.
 * @throws {Error} if the file exists, or cannot be written
 */
export async function writeEncrypted(path: string, encrypter: Encrypter, content: AsyncIterable<Uint8Array>): Promise<WrittenFile> {
  return writeNewFile(path, async (out) => {
    const digest = createHash('sha256');
    let bytes = 0;
    for await (const chunk of await encrypter.encrypt(ReadableStream.from(content))) {
      digest.update(chunk);
      bytes += chunk.length;
      await out.writeFile(chunk);
    }
    return { bytes, sha256: digest.digest('hex') };
  });
}

/** The file is not a whole backup for this key. */
export class BackupFault extends Error {}

/** A backup that can be read, any number of times. */
export interface BackupFile {
  readonly path: string;
  readonly decrypter: Decrypter;
  /** SHA-256 of the encrypted file, hexadecimal; undefined if any file will do. */
  readonly sha256: string | undefined;
}

/**
 * Yields the content of an encrypted file, piece by piece. A file that is cut off, continued, or
 * not the one with the digest ends with a fault: what came before counts only if there is none.
 * @throws {BackupFault}
 */
export async function* readEncrypted({ path, decrypter, sha256 }: BackupFile): AsyncGenerator<Uint8Array> {
  const source = createReadStream(path, { highWaterMark: 1 << 18 });
  const digest = createHash('sha256');
  try {
    const encrypted = ReadableStream.from<Uint8Array>(withBoundedHeader(observed(source, digest)));
    const decrypted = await decrypter.decrypt(encrypted).catch((error: unknown) => {
      throw new BackupFault(openingFault(path, reasonOf(error)));
    });
    const reader = decrypted.getReader();
    for (;;) {
      const next = await reader.read().catch((error: unknown) => {
        throw new BackupFault(`${path}: the file is damaged or cut off (${reasonOf(error)})`);
      });
      if (next.done) break;
      yield next.value;
    }
    // It may have been exchanged since it was verified.
    if (sha256 !== undefined) checkSame(path, digest.digest('hex'), sha256);
  } finally {
    source.destroy();
  }
}

/**
 * Passes a file of age on, unless its header is too long: one part of it is decrypted after the
 * other, each in about a millisecond.
 * @throws {Error}
 */
async function* withBoundedHeader(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let header: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of source) {
    if (header !== undefined) {
      header = Buffer.concat([header, chunk]).subarray(0, headerMaxBytes);
      if (header.includes(headerEnd)) header = undefined;
      else if (header.length === headerMaxBytes) throw new Error(`a header of more than ${headerMaxBytes} bytes`);
    }
    yield chunk;
  }
}

async function* observed(source: AsyncIterable<Uint8Array>, digest: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    digest.update(chunk);
    yield chunk;
  }
}

function openingFault(path: string, reason: string): string {
  if (/no identity matched|no identities/i.test(reason))
    return `${path}: the file is not encrypted to this key, or its beginning is damaged`;
  return `${path}: not a file of age, or its beginning is damaged (${reason})`;
}

/** Returns the SHA-256 of a file, hexadecimal. @throws {BackupFault} if it is not the expected one */
export async function checkDigest(path: string, expected: string | undefined): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) digest.update(chunk as Buffer);
  const found = digest.digest('hex');
  if (expected !== undefined) checkSame(path, found, expected);
  return found;
}

function checkSame(path: string, found: string, expected: string): void {
  if (found !== expected.toLowerCase()) throw new BackupFault(`${path}: its SHA-256 is ${found}: it is not the file that was expected`);
}
