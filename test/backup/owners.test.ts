import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MissingOwners, own, ownershipOf } from '../../src/backup/owners.ts';
import { skipNote } from '../support/skip-note.ts';

const notRoot = process.geteuid?.() === 0 ? undefined : 'only root gives files to others';
let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-owners-'));
  file = join(directory, 'file');
  writeFileSync(file, '', { mode: 0o600 });
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);
const mine = (): { user: string; group: string } => ownershipOf(statSync(file));

describe('the owner of a restored file', () => {
  it('has the permissions that are told', () => {
    expect(own(file, { ...mine(), mode: 0o640 })).toEqual([]);
    expect(modeOf(file)).toBe('640');
    const inner = join(directory, 'inner');
    mkdirSync(inner, { mode: 0o755 });
    expect(own(inner, { ...mine(), mode: 0o750 })).toEqual([]);
    expect(modeOf(inner)).toBe('750');
  });

  it('is not changed through a symbolic link', () => {
    const link = join(directory, 'link');
    symlinkSync(file, link);
    expect(() => own(link, { ...mine(), mode: 0o666 })).toThrow('ELOOP');
    expect(modeOf(file)).toBe('600');
  });

  it('is told by name, or by number if it has no name, with all permission bits', () => {
    chmodSync(file, 0o4751);
    expect(ownershipOf(statSync(file)).mode).toBe(0o4751);
    const stats = statSync(file);
    stats.uid = 0;
    stats.gid = 0;
    expect(ownershipOf(stats)).toMatchObject({ user: 'root', group: 'root' });
    stats.uid = 4_000_000_001;
    stats.gid = 4_000_000_002;
    expect(ownershipOf(stats)).toMatchObject({ user: '4000000001', group: '4000000002' });
  });
});

describe.skipIf(notRoot !== undefined)(`a file that root restores${skipNote(notRoot)}`, () => {
  it('goes to the user and the group of that name, or number', () => {
    expect(own(file, { user: 'nobody', group: 'daemon', mode: 0o640 })).toEqual([]);
    expect(ownershipOf(statSync(file))).toEqual({ user: 'nobody', group: 'daemon', mode: 0o640 });
    expect(own(file, { user: '4000001', group: '4000002', mode: 0o600 })).toEqual([]);
    expect([statSync(file).uid, statSync(file).gid]).toEqual([4_000_001, 4_000_002]);
  });

  it('keeps its owner if this machine does not have the user or the group, and says so', () => {
    expect(own(file, { user: 'no-such-user', group: 'daemon', mode: 0o640 })).toEqual(['user "no-such-user"']);
    expect(own(file, { user: 'no-such-user', group: 'no-such-group', mode: 0o640 })).toEqual([
      'user "no-such-user"',
      'group "no-such-group"',
    ]);
    expect(own(file, { user: 'nobody', group: 'no-such-group', mode: 0o604 })).toEqual(['group "no-such-group"']);
    expect(ownershipOf(statSync(file))).toEqual({ user: 'root', group: 'root', mode: 0o604 });
  });

  it('keeps its owner where another user restores it, and nothing is missing', () => {
    const other = vi.spyOn(process, 'geteuid').mockReturnValue(1000);
    try {
      expect(own(file, { user: 'nobody', group: 'no-such-group', mode: 0o640 })).toEqual([]);
    } finally {
      other.mockRestore();
    }
    expect(ownershipOf(statSync(file))).toEqual({ user: 'root', group: 'root', mode: 0o640 });
  });

  it('has the bits that a change of owner takes away', () => {
    expect(own(file, { user: 'nobody', group: 'daemon', mode: 0o2750 })).toEqual([]);
    expect(modeOf(file)).toBe('2750');
  });
});

it('the files whose owner this machine lacks are one note, however many they are', () => {
  const owners = new MissingOwners();
  expect(owners.notes()).toEqual([]);
  owners.add('/a', []);
  expect(owners.notes()).toEqual([]);
  owners.add('/b', ['user "u"']);
  expect(owners.notes()).toEqual([expect.stringMatching(/^this machine has no user "u": \/b belongs to root/)]);
  owners.add('/c', ['user "u"', 'group "g"']);
  owners.add('/d', ['group "g"']);
  expect(owners.notes()).toEqual([
    expect.stringMatching(/^this machine has no user "u", no group "g": \/b and 2 more files and directories belong to root/),
  ]);
});
