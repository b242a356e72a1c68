import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, fstatSync, ftruncateSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Content, type EvidencePiece, type OpenFile, contentPieces } from '../../src/documents/content.ts';
import { evidenceBase64 } from '../../src/documents/big-content.ts';
import { LongAnswer } from '../../src/documents/long-answer.ts';
import type { CmsParameters } from '../../src/signatures/cms/cms.ts';
import { prepareSignatures } from '../../src/signatures/prepare-signatures.ts';
import { completeSignatures } from '../../src/signatures/signatures.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { documentOf, joined, keyPem, noLevels, planOf, softwareSigner, valueOf } from './software-signer.ts';

const mebibyte = 1024 * 1024;
const signer = softwareSigner('big content', 'rsa');
const other = softwareSigner('the other one');
const threads = new WorkThreads();
const directory = mkdtempSync(join(tmpdir(), 'signetd-big-'));
const opened: number[] = [];
const authorities = join(directory, 'authorities.pem');
writeFileSync(authorities, `${signer.pem}\n${other.pem}`);

afterAll(async () => {
  for (const descriptor of opened) closeSync(descriptor);
  rmSync(directory, { recursive: true, force: true });
  await threads.stop();
});

function openFile(path: string, flags = 'r'): OpenFile {
  const descriptor = openSync(path, flags);
  opened.push(descriptor);
  return { descriptor, bytes: fstatSync(descriptor).size };
}

function fileOf(name: string, bytes: Uint8Array): { path: string; file: OpenFile } {
  const path = join(directory, name);
  writeFileSync(path, bytes);
  return { path, file: openFile(path, 'r+') };
}

/** Both steps, `between` them something happens. */
async function signed(
  content: Content,
  parameters: Partial<CmsParameters>,
  between: () => void = () => undefined,
  by = signer,
): Promise<readonly EvidencePiece[]> {
  const plan = planOf(by, parameters);
  const signatures = await prepareSignatures(plan, [documentOf(content)], threads);
  between();
  const values = new Map(signatures.prepared.map((one) => [one.id, valueOf(by, one, plan.algorithm)]));
  const [one] = await completeSignatures(signatures, values, { threads, levels: noLevels });
  return one?.evidence.content ?? [];
}

/** Written as it is delivered, piece by piece. */
function delivered(name: string, pieces: readonly EvidencePiece[]): string {
  const path = join(directory, name);
  const descriptor = openSync(path, 'w');
  try {
    for (const piece of pieces) for (const part of contentPieces(piece)) writeSync(descriptor, part);
  } finally {
    closeSync(descriptor);
  }
  return path;
}

/** The content that OpenSSL takes out of a signature that it has verified. */
function verified(path: string, contentPath?: string): Buffer {
  const out = join(directory, 'verified');
  const content = contentPath === undefined ? [] : ['-content', contentPath];
  execFileSync('openssl', ['cms', '-verify', '-binary', '-inform', 'DER', '-in', path, '-CAfile', authorities, '-out', out, ...content], {
    stdio: 'pipe',
  });
  return readFileSync(out);
}

describe('content in a file', () => {
  const content = randomBytes(20 * mebibyte + 7);

  it('is signed detached and attached, and OpenSSL finds both good', async () => {
    const { path, file } = fileOf('content', content);
    const detached = await signed(file, { detached: true });
    expect(detached.every((piece) => piece instanceof Uint8Array)).toBe(true);
    verified(delivered('detached.p7s', detached), path);
    const attached = await signed(file, { detached: false });
    expect(attached.filter((piece) => piece instanceof Uint8Array).reduce((bytes, piece) => bytes + piece.length, 0)).toBeLessThan(10_000);
    expect(verified(delivered('attached.p7m', attached)).equals(content)).toBe(true);
  });

  it('is DER as a whole: OpenSSL writes the same bytes again', async () => {
    const { file } = fileOf('small', content.subarray(0, 300_000));
    const path = delivered('small.p7m', await signed(file, {}));
    const again = join(directory, 'again');
    execFileSync('openssl', ['cms', '-cmsout', '-inform', 'DER', '-in', path, '-outform', 'DER', '-out', again]);
    expect(readFileSync(again).equals(readFileSync(path))).toBe(true);
  });

  it('may be empty', async () => {
    const { file } = fileOf('empty', Buffer.alloc(0));
    expect(verified(delivered('empty.p7m', await signed(file, {}))).length).toBe(0);
  });

  it.each([
    ['in DER', []],
    ['streamed in BER', ['-stream']],
  ])('may be a signature %s that is co-signed; its content stays where it is', async (name, options) => {
    const { path: contentPath } = fileOf('to-sign', content);
    const key = join(directory, 'key.pem');
    writeFileSync(key, keyPem(signer.privateKey));
    const certificate = join(directory, 'certificate.pem');
    writeFileSync(certificate, signer.pem);
    const path = join(directory, `${name}.p7m`);
    const files = ['-in', contentPath, '-signer', certificate, '-inkey', key, '-out', path];
    execFileSync('openssl', ['cms', '-sign', '-binary', '-nodetach', '-outform', 'DER', ...files, ...options]);
    const pieces = await signed(openFile(path), { coSigning: 'CHECKED' }, undefined, other);
    expect(verified(delivered('co-signed.p7m', pieces)).equals(content)).toBe(true);
    const again = await signed(openFile(join(directory, 'co-signed.p7m')), {
      coSigning: 'CHECKED',
      algorithm: { scheme: 'RSA_PKCS1', hash: 'sha512' },
    });
    expect(verified(delivered('again.p7m', again)).equals(content)).toBe(true);
  });

  it('is refused with 2/235 from the thread if it has a broken signature', async () => {
    const bytes = joined(await signed(content, {}));
    bytes[bytes.indexOf(content) + 5] = (bytes[bytes.indexOf(content) + 5] ?? 0) ^ 1;
    const { file } = fileOf('broken.p7m', bytes);
    await expect(signed(file, { coSigning: 'CHECKED' })).rejects.toMatchObject({ name: 'Refusal', code: 'EXISTING_SIGNATURE_INVALID' });
  });

  it('is signed raw', async () => {
    const { file } = fileOf('raw', content);
    const { algorithm } = signer;
    const plan = { ...planOf(signer), format: 'raw', parameters: { algorithm } } as const;
    const [prepared] = (await prepareSignatures(plan, [documentOf(file)], threads)).prepared;
    expect(Buffer.from(prepared?.digest ?? [])).toEqual(createHash('sha256').update(content).digest());
    expect([prepared?.contents, prepared?.dataToSign]).toEqual([[], undefined]);
  });

  it('is encoded in base64 from its pieces', async () => {
    const { file } = fileOf('base64', content);
    const pieces = await signed(file, {});
    const text = await evidenceBase64(pieces, threads);
    expect(text).toBeInstanceOf(LongAnswer);
    expect(Buffer.from(text instanceof LongAnswer ? text.toJSON() : text, 'base64').equals(joined(pieces))).toBe(true);
  });
});

describe('a file that changes', () => {
  const content = randomBytes(3 * mebibyte);
  const changed = (file: OpenFile): void => void writeSync(file.descriptor, Buffer.of((content[77] ?? 0) ^ 1), 0, 1, 77);
  const refused = { name: 'Refusal', code: 'DOCUMENT_INVALID' };

  it('between the hash and the delivery of an attached signature is found by whoever reads the pieces', async () => {
    const { file } = fileOf('changed', content);
    const pieces = await signed(file, {}, () => {
      changed(file);
    });
    expect(() => delivered('changed.p7m', pieces)).toThrow('the file has changed');
    await expect(evidenceBase64(pieces, threads)).rejects.toMatchObject({ name: 'Fault', code: 'CONTENT_CHANGED' });
  });

  it('does so too where it is co-signed, whether its content changes or its signatures do', async () => {
    const before = joined(await signed(content, {}));
    const { file } = fileOf('changed-co-signed', before);
    const at = before.indexOf(content);
    const pieces = await signed(file, { coSigning: 'CHECKED' }, () => void writeSync(file.descriptor, Buffer.of(1, 2, 3), 0, 3, at + 1000));
    expect(() => delivered('changed-co-signed.p7m', pieces)).toThrow('the file has changed');
    const { file: second } = fileOf('changed-signature', before);
    const ending = (): void => void writeSync(second.descriptor, Buffer.of((before.at(-1) ?? 0) ^ 1), 0, 1, before.length - 1);
    await expect(signed(second, { coSigning: 'CHECKED' }, ending)).rejects.toMatchObject(refused);
  });

  it('and becomes shorter is refused, detached and attached', async () => {
    for (const detached of [true, false]) {
      const { file } = fileOf('shorter', content);
      ftruncateSync(file.descriptor, 1000);
      await expect(signed(file, { detached })).rejects.toMatchObject(refused);
    }
    const { file } = fileOf('shorter-later', content);
    const pieces = await signed(file, {}, () => {
      ftruncateSync(file.descriptor, mebibyte);
    });
    expect(() => delivered('shorter-later.p7m', pieces)).toThrow('the file has changed');
  });
});

describe('content of half a gigabyte', () => {
  it('is signed with little memory, and the event loop does not wait for it', async () => {
    const path = join(directory, 'sparse');
    writeFileSync(path, '');
    const file = openFile(path, 'r+');
    ftruncateSync(file.descriptor, 512 * mebibyte);
    const sized = { ...file, bytes: 512 * mebibyte };
    await signed(fileOf('warm', Buffer.alloc(mebibyte)).file, {});
    const before = process.memoryUsage().rss;
    let peak = before;
    let turns = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
      turns += 1;
    }, 5);
    const [detached, attached] = [await signed(sized, { detached: true }), await signed(sized, {})];
    clearInterval(watch);
    expect(turns).toBeGreaterThan(10);
    expect((peak - before) / mebibyte).toBeLessThan(100);
    expect([detached.length, attached.length]).toEqual([1, 3]);
  });
});
