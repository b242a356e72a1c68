import {
  chmodSync,
  chownSync,
  lchownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { readKeyFile, readSecret } from '../../src/config/secret-reference.ts';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'signetd-linked-')));
const isRoot = process.geteuid?.() === 0;
const [ownGroup = 0, stranger] = [process.getegid?.(), 12_345];
let volume = base;
let count = 0;

/** Makes the directory of one version of a secret as kubelet does, and returns its name. */
function version(value: string, mode = 0o440, directory = volume): string {
  count += 1;
  const name = `..2026_11_28_09_00_0${count}.${1000 + count}`;
  mkdirSync(join(directory, name), { mode: 0o755 });
  writeFileSync(join(directory, name, 'pin'), value);
  chmodSync(join(directory, name, 'pin'), mode);
  return name;
}

/** Makes another version the present one, as kubelet does, and removes the former. */
function swap(value: string): void {
  const former = readlinkSync(join(volume, '..data'));
  symlinkSync(version(value), join(volume, '..data_tmp'));
  renameSync(join(volume, '..data_tmp'), join(volume, '..data'));
  rmSync(join(volume, former), { recursive: true });
}

const read = (): string => readSecret(`file:${join(volume, 'pin')}`);

beforeEach(() => {
  volume = mkdtempSync(join(base, 'volume-'));
  // A secret's file system in memory has this mode, with fsGroup also the bit of the group.
  chmodSync(volume, 0o3777);
  symlinkSync(version('1234\n'), join(volume, '..data'));
  symlinkSync('..data/pin', join(volume, 'pin'));
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

describe('a secret in a volume of Kubernetes', () => {
  it('is read through its links, by its own name or through one directory of them', () => {
    expect(read()).toBe('1234');
    expect(readKeyFile(join(volume, 'pin')).toString()).toBe('1234');
    expect(readSecret(`file:${join(volume, '..data/pin')}`)).toBe('1234');
    symlinkSync(join(volume, 'pin'), join(volume, 'absolute'));
    expect(readSecret(`file:${join(volume, 'absolute')}`)).toBe('1234');
  });

  it('is the present one after each rotation', () => {
    for (const value of ['5678', '9012']) {
      swap(value);
      expect(read()).toBe(value);
    }
  });

  it('is whole and never missing while it is rotated all the time', async () => {
    const script = `
      const { mkdirSync, writeFileSync, symlinkSync, renameSync, rmSync, readlinkSync } = require('node:fs');
      const { parentPort, workerData: volume } = require('node:worker_threads');
      let stop = false;
      parentPort.on('message', () => { stop = true; });
      const round = (n) => {
        for (let i = 0; i < 20; i += 1) {
          const name = '..' + n + '_' + i, former = readlinkSync(volume + '/..data');
          mkdirSync(volume + '/' + name, { mode: 0o755 });
          writeFileSync(volume + '/' + name + '/pin', 'value-' + n + '-' + i, { mode: 0o400 });
          symlinkSync(name, volume + '/..data_tmp');
          renameSync(volume + '/..data_tmp', volume + '/..data');
          rmSync(volume + '/' + former, { recursive: true });
        }
        if (stop) parentPort.close(); else setImmediate(round, n + 1);
      };
      round(0);`;
    const rotator = new Worker(script, { eval: true, workerData: volume });
    const ended = new Promise((resolve, reject) => rotator.once('exit', resolve).once('error', reject));
    const seen = new Set<string>();
    while (seen.size < 100) seen.add(read());
    rotator.postMessage('stop');
    await ended;
    for (const value of seen) expect(value).toMatch(/^(1234|value-\d+-\d+)$/);
  });

  it.each([0o444, 0o404, 0o460, 0o450])('is not read from a file of mode %o', (mode) => {
    chmodSync(join(volume, readlinkSync(join(volume, '..data')), 'pin'), mode);
    expect(read).toThrow('others may read this file');
  });

  it('is not read by a group that this process is not in, which is named', (context) => {
    if (!isRoot) context.skip('only root can give a file to another group');
    const file = join(volume, readlinkSync(join(volume, '..data')), 'pin');
    chownSync(file, 0, stranger);
    expect(read).toThrow('group 12345 may read this file');
    chmodSync(file, 0o400);
    expect(read()).toBe('1234');
    chmodSync(file, 0o640);
    chownSync(file, 0, ownGroup);
    expect(read()).toBe('1234');
  });
});

describe('a symbolic link to a secret', () => {
  it.each([0o777, 0o775, 0o757])('is not followed in or through a directory of mode %o without the sticky bit', (mode) => {
    chmodSync(volume, mode);
    expect(read).toThrow(`others may write in ${volume}`);
    chmodSync(volume, 0o755);
    expect(read()).toBe('1234');
    chmodSync(join(volume, readlinkSync(join(volume, '..data'))), mode);
    expect(read).toThrow('others may write in');
  });

  it('is not followed below a directory that others may write', () => {
    const parent = join(volume, 'parent');
    mkdirSync(join(parent, 'inner'), { recursive: true });
    symlinkSync(join(volume, '..data/pin'), join(parent, 'inner/pin'));
    chmodSync(parent, 0o777);
    expect(() => readSecret(`file:${join(parent, 'inner/pin')}`)).toThrow(`others may write in ${parent}`);
    expect(() => readKeyFile(join(parent, 'inner/pin'))).toThrow(`others may write in ${parent}`);
    // Nor if a link leads there.
    symlinkSync('parent/inner', join(volume, 'way'));
    expect(() => readSecret(`file:${join(volume, 'way/pin')}`)).toThrow(`others may write in ${parent}`);
  });

  it('is not followed if it, a directory or the file belongs to another user', (context) => {
    if (!isRoot) context.skip('only root can give a file away');
    const open = mkdtempSync(join(tmpdir(), 'signetd-open-'));
    chmodSync(open, 0o1777);
    const own = join(open, 'own');
    writeFileSync(own, 'planted', { mode: 0o600 });
    chownSync(own, stranger, stranger);
    rmSync(join(volume, 'pin'));
    symlinkSync(own, join(volume, 'pin'));
    for (const owner of ['self', 'anyone'] as const) {
      expect(() => readSecret(`file:${join(volume, 'pin')}`, owner)).toThrow('the file belongs to user 12345');
    }
    expect(() => readKeyFile(join(volume, 'pin'))).toThrow('the file belongs to user 12345');

    mkdirSync(join(open, 'directory'));
    linkSync(join(volume, readlinkSync(join(volume, '..data')), 'pin'), join(open, 'directory/pin'));
    chownSync(join(open, 'directory'), stranger, stranger);
    symlinkSync(join(open, 'directory/pin'), join(volume, 'through'));
    expect(() => readSecret(`file:${join(volume, 'through')}`)).toThrow('directory belongs to user 12345');

    lchownSync(join(volume, '..data'), stranger, stranger);
    symlinkSync('..data/pin', join(volume, 'again'));
    for (const owner of ['self', 'anyone'] as const) {
      expect(() => readSecret(`file:${join(volume, 'again')}`, owner)).toThrow('..data is a symbolic link of user 12345');
    }
    rmSync(open, { recursive: true });
  });

  it('is not followed in a circle, to nothing, to a directory, or out of an ordinary file', () => {
    symlinkSync('circle', join(volume, 'circle'));
    expect(() => readSecret(`file:${join(volume, 'circle')}`)).toThrow('too many symbolic links');
    symlinkSync('none', join(volume, 'dangling'));
    expect(() => readSecret(`file:${join(volume, 'dangling')}`)).toThrow('there is no such file');
    symlinkSync('..data', join(volume, 'directory'));
    expect(() => readSecret(`file:${join(volume, 'directory')}`)).toThrow('not a regular file');
    expect(() => readSecret(`file:${join(volume, 'pin/more')}`)).toThrow('a part of the path is not a directory');
  });
});
