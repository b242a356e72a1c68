import { existsSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { accountDirectoryOf } from '../config/token-config.ts';
import type { Manifest, PartKind } from './manifest.ts';
import { namedPaths } from './named-files.ts';
import { ownershipOf, type Ownership } from './owners.ts';

type RestoredKind = Exclude<PartKind, 'about'>;

interface KindRules {
  /** Directory of an installed service. */
  readonly place: string;
  readonly user: string;
  readonly group: string;
  readonly mode: number;
  readonly directoryMode: number;
}

const service = { user: 'signetd', group: 'signetd', mode: 0o600, directoryMode: 0o700 };

/** Where an installed service has its files, and whose they are there (docs/installation.md). */
const rules: Readonly<Record<RestoredKind, KindRules>> = {
  configuration: { place: '/etc/signetd', user: 'root', group: 'signetd', mode: 0o640, directoryMode: 0o750 },
  state: { place: '/var/lib/signetd', ...service },
  transfer: { place: '/var/lib/signetd', ...service },
  audit: { place: '/var/log/signetd', ...service },
  account: {
    place: '/var/lib/signetd-token/account',
    ...{ user: 'signetd-token', group: 'signetd-token-client', mode: 0o600, directoryMode: 0o700 },
  },
};

/** Root follows the notes that are in it. */
const setupDirectory = '/etc/signetd/setup';
/** Directories of the system, in which a configuration file makes nothing signetd's own. */
const systemPlaces = ['/bin', '/boot', '/dev', '/etc', '/lib', '/lib32', '/lib64', '/proc', '/root', '/run', '/sbin', '/sys', '/usr'];

/** What this machine says about the places of a service. */
export interface KnownHere {
  /** Path of the configuration that the command is given. */
  readonly configPath: string;
  /** The configuration that is there already; undefined if there is none that can be read. */
  readonly present: Config | undefined;
  /** Directories that the operator allows. */
  readonly allowed: readonly string[];
}

/**
 * The places where a backup of unknown origin may put files, and whose they are then: its author
 * also wrote the configuration in it, so that names nothing by itself.
 */
export class RestorePlaces {
  readonly #directories: readonly string[];
  readonly #files: ReadonlySet<string>;
  readonly #byKind: Readonly<Record<'state' | 'transfer' | 'audit' | 'account', string | undefined>>;

  constructor({ configPath, present, allowed }: KnownHere) {
    const own = dirname(resolve(configPath));
    const isOwn = own.split('/').length > 2 && !systemPlaces.some((place) => isBelow(own, place));
    this.#directories = [...allowed.map((path) => resolve(path)), ...(isOwn ? [own] : [])];
    this.#files = new Set([resolve(configPath), ...(present === undefined ? [] : namedPaths(present))]);
    this.#byKind = {
      state: present?.state.kind === 'sqlite' ? dirname(present.state.path) : undefined,
      transfer: present?.transferStore?.directory,
      audit: present?.audit.directory,
      account: present === undefined ? undefined : accountDirectoryOf(present.token),
    };
  }

  /** Whether a file of a kind may be at a path, which is in its shortest form. */
  allows(kind: PartKind, path: string): boolean {
    if (kind === 'about') return false;
    if (this.#directories.some((directory) => isBelow(path, directory))) return true;
    if (kind === 'configuration') return this.#files.has(path) || (isBelow(path, rules[kind].place) && !isBelow(path, setupDirectory));
    return isBelow(path, rules[kind].place) || dirname(path) === this.#byKind[kind];
  }

  /** Owner and permissions of a file: those of the directory where it is, if that exists. */
  ownership(kind: PartKind, path: string): Ownership {
    const { user, group, mode } = rules[kind === 'about' ? 'configuration' : kind];
    const directory = statSync(dirname(path), { throwIfNoEntry: false });
    return directory === undefined ? { user, group, mode } : { ...ownershipOf(directory), mode };
  }

  /** Owner and permissions of a directory that has to be made. */
  directoryOwnership(kind: PartKind): Ownership {
    const { user, group, directoryMode } = rules[kind === 'about' ? 'configuration' : kind];
    return { user, group, mode: directoryMode };
  }
}

/** Returns a line for each part that is out of bounds, also where symbolic links lead to such a place. */
export function outOfBounds({ parts }: Manifest, places: RestorePlaces, root: string): string[] {
  return parts.flatMap(({ kind, path }) => {
    if (path === null) return [];
    const real = realPath(root, path);
    if (places.allows(kind, path) && (real === path || places.allows(kind, real))) return [];
    const led = real === path ? '' : `, which is ${real} here,`;
    return [`${path}${led} is no place of signetd: --allow-path ${dirname(real)} allows it`];
  });
}

/** The path below the root to which the symbolic links lead that are there. */
function realPath(root: string, path: string): string {
  const rest = [basename(path)];
  let directory = dirname(path);
  for (; !existsSync(join(root, directory)) && directory !== '/'; directory = dirname(directory)) rest.unshift(basename(directory));
  const realRoot = existsSync(root) ? realpathSync(root) : root;
  const real = existsSync(join(root, directory)) ? realpathSync(join(root, directory)) : realRoot;
  // A link that leads out of the root is out of bounds there too, by its own path.
  return isBelow(real, realRoot) || real === realRoot ? join('/', relative(realRoot, real), ...rest) : join(real, ...rest);
}

function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}
