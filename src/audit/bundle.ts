import { createPublicKey } from 'node:crypto';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { auditFiles, fileNumber, type AuditFile } from './file-names.ts';
import { keyDigest } from './checkpoint.ts';
import { headOf } from './line-offset.ts';
import { parseLine } from './line.ts';
import { readLines } from './read-lines.ts';
import { tarEnd, tarHeader, tarPadding } from '../tar/header.ts';
import { tarIndex, type IndexedEntry } from '../tar/tar-index.ts';

/*
 * A bundle is a tar archive with whole files of a log, from the beginning of one up to a checkpoint,
 * the public keys of their checkpoints as PEM, and a README.txt. Its signatures are those of the
 * checkpoints: the archive itself adds nothing that must be trusted.
 */

const copyBytes = 1 << 20;
const keyName = /^keys\/([0-9a-f]{64})\.pem$/;
const keyMaxBytes = 4096;
const checkpointMark = Buffer.from('"kind":"checkpoint"');

/** Part of a log that is to be put into a bundle. */
export interface BundlePlan {
  readonly log: string;
  readonly files: readonly { readonly file: AuditFile; readonly bytes: number }[];
  /** SubjectPublicKeyInfo of the checkpoints' keys, DER. */
  readonly publicKeys: readonly Uint8Array[];
  readonly totalBytes: number;
}

export interface Bundle {
  readonly files: readonly AuditFile[];
  /** SubjectPublicKeyInfo, DER. A bundle cannot vouch for its own keys. */
  readonly publicKeys: readonly Uint8Array[];
}

/**
 * Chooses the files: from the one with the first record since `since` up to the first checkpoint
 * made at `until` or later, or up to the last checkpoint (milliseconds since the epoch).
 * @throws {Error} if there is no checkpoint to end with
 */
export async function planBundle(
  directory: string,
  { since, until }: { readonly since?: number | undefined; readonly until?: number | undefined },
): Promise<BundlePlan> {
  const all = await auditFiles(directory);
  const begins = await Promise.all(all.map(async (file) => (await firstLine(file)).time));
  const first =
    since === undefined
      ? 0
      : Math.max(
          0,
          begins.findLastIndex((time) => time !== undefined && time <= since),
        );
  const from =
    until === undefined
      ? first
      : Math.max(
          first,
          begins.findLastIndex((time) => time !== undefined && time <= until),
        );
  const end = until === undefined ? await lastCheckpoint(all.slice(from)) : await checkpointSince(all.slice(from), until);
  if (end === undefined) throw new Error('the log has no checkpoint at which a bundle could end');
  const chosen = all.slice(first, all.indexOf(end.file) + 1);
  const files = await Promise.all(
    chosen.map(async (file) => ({ file, bytes: file === end.file ? end.bytes : (await stat(file.path)).size })),
  );
  const opening = await Promise.all(chosen.map(firstLine));
  const publicKeys = [...new Set(opening.flatMap(({ publicKey }) => publicKey ?? []))].map((text) => Buffer.from(text, 'base64'));
  return {
    log: opening.find(({ log }) => log !== undefined)?.log ?? '',
    files,
    publicKeys,
    totalBytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

async function firstLine(file: AuditFile): Promise<{ readonly time?: number; readonly log?: string; readonly publicKey?: string }> {
  for await (const { bytes, isWhole } of readLines(file.path)) {
    const record = isWhole ? parseLine(bytes) : '';
    const head = headOf(bytes);
    const time = head === undefined ? {} : { time: head.time };
    return typeof record !== 'string' && record.kind === 'open' ? { ...time, log: record.log, publicKey: record.publicKey } : time;
  }
  return {};
}

interface End {
  readonly file: AuditFile;
  /** Length of the file up to and with the checkpoint. */
  readonly bytes: number;
}

async function lastCheckpoint(files: readonly AuditFile[]): Promise<End | undefined> {
  for (const file of files.toReversed()) {
    let bytes: number | undefined;
    for await (const line of readLines(file.path)) if (line.isWhole && line.bytes.includes(checkpointMark)) bytes = line.end;
    if (bytes !== undefined) return { file, bytes };
  }
  return undefined;
}

async function checkpointSince(files: readonly AuditFile[], until: number): Promise<End | undefined> {
  let found: End | undefined;
  for (const file of files) {
    for await (const { bytes, isWhole, end } of readLines(file.path)) {
      if (!isWhole || !bytes.includes(checkpointMark)) continue;
      found = { file, bytes: end };
      if ((headOf(bytes)?.time ?? 0) >= until) return found;
    }
  }
  return found;
}

/** Writes a bundle. `progress` receives the number of bytes of the log that are written. */
export async function writeBundle(out: FileHandle, plan: BundlePlan, readme: string, progress: (bytes: number) => void): Promise<void> {
  const attributes = { mode: 0o600, modifiedAt: Math.floor(Date.now() / 1000) };
  const add = async (name: string, content: Buffer): Promise<void> => {
    await out.writeFile(Buffer.concat([tarHeader({ name, bytes: content.length, ...attributes }), content, tarPadding(content.length)]));
  };
  await add('README.txt', Buffer.from(readme));
  for (const publicKey of plan.publicKeys) {
    const pem = createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' }).export({ type: 'spki', format: 'pem' });
    await add(`keys/${keyDigest(publicKey)}.pem`, Buffer.from(pem));
  }
  let done = 0;
  for (const { file, bytes } of plan.files) {
    await out.writeFile(tarHeader({ name: file.name, bytes, ...attributes }));
    const from = await open(file.path, 'r');
    try {
      for (let position = 0; position < bytes;) {
        const wanted = Math.min(copyBytes, bytes - position);
        const { bytesRead, buffer } = await from.read(Buffer.allocUnsafe(wanted), 0, wanted, position);
        if (bytesRead === 0) throw new Error(`${file.name} became shorter while it was read`);
        await out.writeFile(buffer.subarray(0, bytesRead));
        position += bytesRead;
        done += bytesRead;
        progress(done);
      }
    } finally {
      await from.close();
    }
    await out.writeFile(tarPadding(bytes));
  }
  await out.writeFile(tarEnd);
}

/**
 * Opens a bundle: its files stay in the archive, and are read there.
 * @throws {Error} if it is not a bundle
 */
export async function openBundle(path: string): Promise<Bundle> {
  const entries = await tarIndex(path);
  const files: AuditFile[] = [];
  const publicKeys: Uint8Array[] = [];
  for (const entry of entries) {
    const number = fileNumber(entry.name);
    const digest = keyName.exec(entry.name)?.[1];
    if (number !== undefined) files.push({ name: entry.name, path, number, within: { offset: entry.offset, bytes: entry.bytes } });
    else if (digest !== undefined) publicKeys.push(await readKey(path, entry, digest));
    else if (entry.name !== 'README.txt') throw new Error(`a bundle has no file ${entry.name}`);
  }
  if (files.length === 0) throw new Error('it has no file of an audit log');
  return { files: files.toSorted((one, other) => one.number - other.number), publicKeys };
}

async function readKey(path: string, { name, offset, bytes }: IndexedEntry, digest: string): Promise<Uint8Array> {
  if (bytes > keyMaxBytes) throw new Error(`${name} is too long`);
  const handle = await open(path, 'r');
  try {
    const { buffer } = await handle.read(Buffer.alloc(bytes), 0, bytes, offset);
    const key = createPublicKey(buffer).export({ type: 'spki', format: 'der' });
    if (keyDigest(key) !== digest) throw new Error(`${name} holds another key`);
    return key;
  } finally {
    await handle.close();
  }
}
