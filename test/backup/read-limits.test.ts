import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Decrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BackupFault, type BackupFile } from '../../src/backup/encrypted-file.ts';
import { readBackup, type TakePart } from '../../src/backup/read-backup.ts';
import { tarHeader } from '../../src/tar/header.ts';
import { archive, encrypted, manifestOf, partOf, type Entry } from './made-backup.ts';

let directory: string;
const x = Buffer.from('x');
const part = partOf('about', 'x', null, x);
const whole: readonly Entry[] = [
  { name: 'x', content: x },
  { name: 'manifest.json', content: Buffer.from(JSON.stringify(manifestOf([part]))) },
];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-read-limits-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

async function backupOf(entries: readonly Entry[]): Promise<BackupFile> {
  const path = join(directory, 'made.age');
  const identity = await generateX25519Identity();
  await encrypted(path, await identityToRecipient(identity), archive(entries));
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  return { path, decrypter, sha256: undefined };
}

const leave: TakePart = async () => Promise.resolve();
const faultOf = async (entries: readonly Entry[], take = leave): Promise<unknown> =>
  readBackup(await backupOf(entries), take, () => undefined).then(
    () => undefined,
    (error: unknown) => error,
  );

describe('the reader of backups', () => {
  it('takes a manifest of 500 million bytes, and no longer one', async () => {
    const headerOf = (bytes: number): Entry => tarHeader({ name: 'manifest.json', bytes, mode: 0o600, modifiedAt: 0 });
    const [longest, tooLong] = [await faultOf([headerOf(500_000_000)]), await faultOf([headerOf(500_000_001)])];
    expect([longest, tooLong].every((one) => one instanceof BackupFault)).toBe(true);
    // What the header tells is not there.
    expect(String(longest)).not.toContain('the manifest is too long');
    expect(String(tooLong)).toContain('made.age: the manifest is too long');
  });

  it('tells of the file that has a part twice, and of one that the manifest does not name', async () => {
    expect(await faultOf(whole)).toBeUndefined();
    const again = await faultOf([{ name: 'x', content: x }, ...whole]);
    expect(again).toBeInstanceOf(BackupFault);
    expect(String(again)).toContain('made.age: x is there twice');
    const more = await faultOf([{ name: 'y', content: x }, ...whole]);
    expect(more).toBeInstanceOf(BackupFault);
    expect(String(more)).toContain('made.age: the manifest does not name y');
  });

  it('says which member of a manifest is wrong, and where it is', async () => {
    const wrong = manifestOf([part, { ...part, bytes: -1 }]);
    const fault = await faultOf([{ name: 'manifest.json', content: Buffer.from(JSON.stringify(wrong)) }]);
    expect(String(fault)).toContain('the manifest is not one that this version understands (parts.1.bytes: ');
  });

  it('leaves an error of who takes a part as it is, and makes one of the archive a fault of the file', async () => {
    const full = new RangeError('the disk is full');
    expect(await faultOf(whole, async () => Promise.reject(full))).toBe(full);
    const noArchive = await faultOf([Buffer.alloc(1024, 7)]);
    expect(noArchive).toBeInstanceOf(BackupFault);
    expect(String(noArchive)).toContain('made.age: it is not a tar archive');
  });
});
