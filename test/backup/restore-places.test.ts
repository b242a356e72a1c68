import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Part, PartKind } from '../../src/backup/manifest.ts';
import { wrongParts } from '../../src/backup/part-paths.ts';
import { outOfBounds, RestorePlaces } from '../../src/backup/restore-places.ts';
import { restoreTargets, type Choice } from '../../src/backup/restore-targets.ts';
import { parseConfig } from '../../src/config/config.ts';
import { configurationPart, configurationText, manifestOf, partOf } from './made-backup.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'signetd-places-')));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

const configPath = '/etc/signetd/signetd.yaml';
const kinds = ['configuration', 'state', 'transfer', 'audit', 'account', 'about'] as const;
const allowedFor = (places: RestorePlaces, path: string): PartKind[] => kinds.filter((kind) => places.allows(kind, path));
const unknown = (path = configPath, allowed: readonly string[] = []): RestorePlaces =>
  new RestorePlaces({ configPath: path, present: undefined, allowed });

describe('a backup of unknown origin', () => {
  it.each<[string, readonly PartKind[]]>([
    ['/etc/signetd/tls/server.pem', ['configuration']],
    ['/etc/signetd', ['configuration']],
    ['/etc/signetd/setup/notes', []],
    ['/etc/signetd/setup', []],
    ['/etc/signetd/setups', ['configuration']],
    ['/etc/signetdx/a', []],
    ['/etc/passwd', []],
    ['/var/lib/signetd/state.sqlite', ['state', 'transfer']],
    ['/var/log/signetd/audit/audit-00000001.jsonl', ['audit']],
    ['/var/lib/signetd-token/account/account-0-00000001.jsonl', ['account']],
    ['/var/lib/signetd-token/other', []],
    ['/var/spool/cron/crontabs/root', []],
  ])('may put at %s files of the kinds %j', (path, expected) => {
    expect(allowedFor(unknown(), path)).toEqual(expected);
  });

  it.each<[string, boolean]>([
    ['/srv/signetd/signetd.yaml', true],
    ['/opt/a/b/signetd.yaml', true],
    ['/srv/signetd.yaml', false],
    ['/signetd.yaml', false],
    ['/etc/other/signetd.yaml', false],
    ['/usr/local/etc/signetd.yaml', false],
    ['/run/signetd/signetd.yaml', false],
    ['/etcetera/signetd/signetd.yaml', true],
  ])('may use the directory of the configuration %s: %s', (path, isOwn) => {
    const places = unknown(path);
    const directory = path.slice(0, path.lastIndexOf('/'));
    expect(places.allows('state', `${directory}/deep/file`)).toBe(isOwn);
    expect(places.allows('configuration', path)).toBe(true);
    expect(places.allows('state', path)).toBe(isOwn);
  });

  it('may use the directories that are allowed, and those below them', () => {
    const places = unknown(configPath, ['/srv/a', '/srv/b/../c/']);
    for (const path of ['/srv/a/x', '/srv/a', '/srv/c/d/x']) expect(allowedFor(places, path)).toEqual(kinds.slice(0, -1));
    for (const path of ['/srv/ab/x', '/srv/b/x', '/srv/x']) expect(allowedFor(places, path)).toEqual([]);
    expect(allowedFor(unknown(configPath, ['/']), '/anything')).toEqual(kinds.slice(0, -1));
  });

  it('may use what the configuration names that is there, for the same kind, and no directory below', () => {
    const text = configurationText({ directory: '/srv/etc', state: '/srv/state', audit: '/srv/audit' });
    const places = new RestorePlaces({ configPath, present: parseConfig(configPath, text), allowed: [] });
    expect(allowedFor(places, '/srv/etc/tls/server.pem')).toEqual(['configuration']);
    expect(allowedFor(places, '/srv/etc/tls/other.pem')).toEqual([]);
    expect(allowedFor(places, '/srv/state/state.sqlite')).toEqual(['state']);
    expect(allowedFor(places, '/srv/state/transfer/x')).toEqual(['transfer']);
    expect(allowedFor(places, '/srv/audit/x')).toEqual(['audit']);
    expect(allowedFor(places, '/srv/audit/deep/x')).toEqual([]);
  });

  it('is named each place that is out of bounds, also where links lead there', () => {
    mkdirSync(join(root, 'etc'));
    mkdirSync(join(root, 'elsewhere'));
    symlinkSync(join(root, 'elsewhere'), join(root, 'etc/signetd'));
    const manifest = manifestOf([
      configurationPart('/etc/signetd/a'),
      configurationPart('/usr/bin/b'),
      partOf('about', 'README.txt', null),
    ]);
    expect(outOfBounds(manifest, unknown(), root)).toEqual([
      '/etc/signetd/a, which is /elsewhere/a here, is no place of signetd: --allow-path /elsewhere allows it',
      '/usr/bin/b is no place of signetd: --allow-path /usr/bin allows it',
    ]);
    expect(outOfBounds(manifest, unknown(configPath, ['/elsewhere', '/usr/bin']), root)).toEqual([]);
    // A link out of the root is out of bounds by its own path.
    rmSync(join(root, 'etc/signetd'));
    const outside = mkdtempSync(join(tmpdir(), 'signetd-outside-'));
    symlinkSync(outside, join(root, 'etc/signetd'));
    expect(outOfBounds(manifest, unknown(configPath, ['/usr/bin']), root)).toEqual([
      expect.stringContaining(`which is ${realpathSync(outside)}/a here`),
    ]);
    rmSync(outside, { recursive: true });
  });

  it('gives files the owner of their directory, and the permissions of their kind', () => {
    chmodSync(root, 0o700);
    const { uid } = statSync(root);
    const mode = (kind: PartKind): number => unknown().ownership(kind, join(root, 'x')).mode;
    expect(kinds.map(mode)).toEqual([0o640, 0o600, 0o600, 0o600, 0o600, 0o640]);
    expect(uid === 0 ? unknown().ownership('state', join(root, 'x')).user : 'root').toBe('root');
    expect(unknown().ownership('state', '/nowhere/x')).toEqual({ user: 'signetd', group: 'signetd', mode: 0o600 });
    expect(unknown().ownership('configuration', '/nowhere/x')).toEqual({ user: 'root', group: 'signetd', mode: 0o640 });
    expect(unknown().ownership('account', '/nowhere/x')).toEqual({ user: 'signetd-token', group: 'signetd-token-client', mode: 0o600 });
    expect(kinds.map((kind) => unknown().directoryOwnership(kind).mode)).toEqual([0o750, 0o700, 0o700, 0o700, 0o700, 0o750]);
  });
});

describe('the parts of a backup', () => {
  it.each<[string, Part, string[]]>([
    [
      'a text with a path',
      partOf('about', 'README.txt', '/etc/signetd/README.txt'),
      ['/etc/signetd/README.txt: no backup has such a file'],
    ],
    ['a text of another name', partOf('about', 'README', null), ['README: no backup has such a file']],
    [
      'a file above another',
      configurationPart('/etc/signetd'),
      [
        '/etc/signetd: the configuration in the backup does not name this path',
        '/etc/signetd/signetd.yaml: the backup has a file in the place of a directory above it',
      ],
    ],
    ['a file beside another', configurationPart('/etc/signetd/ca.pem'), []],
  ])('are right or wrong: %s', (_what, part, faults) => {
    const config = parseConfig(configPath, configurationText());
    expect(wrongParts(manifestOf([configurationPart(configPath), part]), config)).toEqual(faults);
  });
});

describe('what is there already', () => {
  const config = parseConfig(configPath, configurationText());
  const found = (chosen: readonly Choice[]): { readonly existing: readonly string[]; readonly same: readonly string[] } => {
    const parts = [
      configurationPart(configPath, Buffer.from('text')),
      configurationPart('/etc/signetd/ca.pem', Buffer.from('text')),
      partOf('state', 'state/state.sqlite', '/var/lib/signetd/state.sqlite', Buffer.from('text')),
    ];
    const directories = ['/etc/signetd', '/var/lib/signetd'].map((path) => ({ path, user: 'root', group: 'root', mode: 0o755 }));
    const { existing, same } = restoreTargets(manifestOf(parts, { directories }), config, {
      chosen: new Set(chosen),
      root,
      places: undefined,
    });
    return { existing: existing.map((path) => path.slice(root.length)), same: [...same].map((path) => path.slice(root.length)) };
  };
  const put = (path: string, text: string): void => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  };

  it('is in the way, but for files of the configuration that are the same', () => {
    expect(found(['configuration', 'state'])).toEqual({ existing: [], same: [] });
    put(configPath, 'text');
    put('/etc/signetd/ca.pem', 'tex!');
    put('/var/lib/signetd/state.sqlite', 'text');
    put('/var/lib/signetd/state.sqlite-wal', '');
    expect(found(['configuration', 'state'])).toEqual({
      existing: ['/etc/signetd/ca.pem', '/var/lib/signetd/state.sqlite', '/var/lib/signetd/state.sqlite-wal'],
      same: [configPath],
    });
    // What is not chosen is in nobody's way.
    expect(found(['configuration'])).toEqual({ existing: ['/etc/signetd/ca.pem'], same: [configPath] });
    expect(existsSync(join(root, configPath))).toBe(true);
  });
});
