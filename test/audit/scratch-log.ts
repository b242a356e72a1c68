import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuditLog, type AuditLogOptions } from '../../src/audit/audit-log.ts';
import type { AuditMemory } from '../../src/audit/checkpoint-writer.ts';
import type { CheckpointSigner } from '../../src/audit/checkpoint.ts';
import type { FilePlace, RequestEntry } from '../../src/audit/record.ts';
import { verifyAuditLog, type VerifyOptions, type VerifyResult } from '../../src/audit/verify.ts';
import { recordingLog } from '../support/silent-log.ts';

/** Signs checkpoints with a key in memory. */
export function softwareSigner(): CheckpointSigner {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'der' }),
    sign: async (bytes) => Promise.resolve(sign('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' })),
  };
}

export class ScratchMemory implements AuditMemory {
  kept: FilePlace | undefined;

  async head(): Promise<FilePlace | undefined> {
    return Promise.resolve(this.kept);
  }

  async keepHead(head: FilePlace): Promise<void> {
    this.kept = head;
    return Promise.resolve();
  }
}

/** The files of a log: name to lines. */
export type Files = ReadonlyMap<string, readonly string[]>;

/** A log in a directory of its own, with a software key and its memory beside it. */
export class ScratchLog {
  readonly directory: string;
  readonly signer = softwareSigner();
  readonly memory = new ScratchMemory();
  readonly log = recordingLog();

  constructor(directory = mkdtempSync(join(tmpdir(), 'signetd-audit-'))) {
    this.directory = directory;
  }

  async open(settings: Partial<AuditLogOptions> = {}): Promise<AuditLog> {
    const { directory, signer, memory, log } = this;
    const limits = { rotateBytes: 64 * 1024 * 1024, checkpointSeconds: 60, checkpointRecords: 1000 };
    return AuditLog.open({ directory, name: 'signetd', ...limits, signer, memory, log, ...settings });
  }

  /** Verifies against the key and what the memory kept. */
  async verify(settings: Partial<VerifyOptions> = {}, directory = this.directory): Promise<VerifyResult> {
    const heads = this.memory.kept === undefined ? [] : [this.memory.kept];
    return verifyAuditLog(directory, { publicKeys: [this.signer.publicKey], heads, ...settings });
  }

  files(): Files {
    const names = readdirSync(this.directory)
      .filter((name) => name.endsWith('.jsonl'))
      .toSorted();
    return new Map(names.map((name) => [name, readFileSync(join(this.directory, name), 'utf8').split('\n').slice(0, -1)]));
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Makes a directory hold exactly these files. Answers the same files, so that the next call writes only what is new. */
export function writeFiles(directory: string, files: Files, before: Files = new Map()): Files {
  for (const name of before.keys()) if (!files.has(name)) rmSync(join(directory, name));
  for (const [name, lines] of files) {
    if (before.get(name) !== lines) writeFileSync(join(directory, name), lines.map((line) => `${line}\n`).join(''));
  }
  return files;
}

export function requestEntry(number: number): RequestEntry {
  return {
    kind: 'request',
    request: `00000000${number.toString(16)}`,
    client: 'app',
    tenant: 'demo',
    spki: '0123456789abcdef',
    address: '127.0.0.1',
    operation: number % 3 === 0 ? 'pki/checkKey' : 'signature/sign',
    key: 'a'.repeat(40),
    digests: [`sha256:${number.toString(16).padStart(64, '0')}`],
    major: number % 7 === 0 ? 2 : 0,
    minor: number % 7 === 0 ? 202 : 0,
  };
}
