import {
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ownDirectory, writeOwned } from '../../src/cli/setup/machine.ts';
import { TokenConfig } from '../../src/config/token-config.ts';
import { giveRootMadeFiles } from '../../src/service/root-made-files.ts';
import { prepareSoftwareToken } from '../../src/token/operator/software-token.ts';
import { notRoot, skipNote } from '../support/skip-note.ts';

const [uid, gid] = [65_534, 65_534];
let work: string;
/** Belongs to the other user. */
let theirs: string;
/** Belongs to root, as /etc does. */
let roots: string;

beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), 'root-made-'));
  theirs = join(work, 'theirs');
  roots = join(work, 'roots');
  for (const directory of [theirs, roots]) mkdirSync(directory);
  writeFileSync(join(roots, 'shadow'), '');
  if (notRoot === undefined) chownSync(theirs, uid, gid);
});

afterEach(() => {
  rmSync(work, { recursive: true });
});

function ownerOf(...path: string[]): number {
  return statSync(join(...path)).uid;
}

describe.skipIf(notRoot !== undefined)(`files that root makes in the directory of another user${skipNote(notRoot)}`, () => {
  it('are given to that user, at every depth', () => {
    mkdirSync(join(theirs, 'token/object'), { recursive: true });
    writeFileSync(join(theirs, 'token/object/one'), '');
    giveRootMadeFiles(theirs);
    expect([ownerOf(theirs, 'token'), ownerOf(theirs, 'token/object'), ownerOf(theirs, 'token/object/one')]).toStrictEqual([uid, uid, uid]);
  });

  it('do not include what symbolic links and further names of files lead to', () => {
    symlinkSync(roots, join(theirs, 'directory'));
    symlinkSync(join(roots, 'shadow'), join(theirs, 'file'));
    linkSync(join(roots, 'shadow'), join(theirs, 'name'));
    giveRootMadeFiles(theirs);
    expect([ownerOf(roots), ownerOf(roots, 'shadow')]).toStrictEqual([0, 0]);
  });

  it('stay with root if the directory is a symbolic link', () => {
    const link = join(work, 'link');
    symlinkSync(theirs, link);
    writeFileSync(join(theirs, 'one'), '');
    giveRootMadeFiles(link);
    expect(ownerOf(theirs, 'one')).toBe(0);
  });

  it('of a software token do not include what a symbolic link in it leads to', async () => {
    const settings = join(work, 'softhsm2.conf');
    writeFileSync(settings, `directories.tokendir = ${theirs}\n`);
    symlinkSync(roots, join(theirs, 'token'));
    writeFileSync(join(theirs, 'object'), '');
    await prepareSoftwareToken(
      TokenConfig.parse({ profile: 'softhsm2', label: 'test', pin: 'credential:pin', environment: { SOFTHSM2_CONF: settings } }),
    );
    expect([ownerOf(theirs, 'object'), ownerOf(roots, 'shadow')]).toStrictEqual([uid, 0]);
  });

  it('replace a symbolic link that is in the way', () => {
    symlinkSync(join(roots, 'shadow'), join(theirs, 'one.new'));
    symlinkSync(join(roots, 'shadow'), join(theirs, 'one'));
    writeOwned(join(theirs, 'one'), 'content', 0o640);
    expect([readFileSync(join(theirs, 'one'), 'utf8'), lstatSync(join(theirs, 'one')).mode & 0o7777]).toStrictEqual(['content', 0o640]);
    expect(readFileSync(join(roots, 'shadow'), 'utf8')).toBe('');
  });

  it('are not made by setup through a symbolic link in place of a directory', () => {
    symlinkSync(roots, join(theirs, 'tokens'));
    expect(() => {
      ownDirectory(join(theirs, 'tokens'), 'nobody', 'nogroup', 0o700);
    }).toThrow('ENOTDIR');
    expect(ownerOf(roots)).toBe(0);
  });
});
