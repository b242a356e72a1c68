import { readFileSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Config } from '../config/config.ts';
import { daemonsCredential } from '../config/listeners-config.ts';

export interface NamedFiles {
  /** Absolute paths of files that the configuration names, such as certificates. */
  readonly files: readonly string[];
  /** References to secrets, which are in no backup. */
  readonly secrets: readonly { readonly member: string; readonly reference: string }[];
}

/** Paths of other parts, of programs and of sockets. */
const otherMembers = /^(state\.path|token\.modulePath)$|\.socketPath$/;
const privateKeyMember = 'listeners.api.key';
/** A private key is shorter. */
const keyMaxBytes = 1 << 20;

/**
 * Finds the files that a configuration names, wherever it names them: every absolute path of a
 * regular file. A file that holds a private key counts as a secret.
 */
export function namedFiles(config: Config): NamedFiles {
  const { paths, secrets } = named(config);
  const files = new Set<string>();
  for (const [path, member] of paths) {
    if (!isFile(path)) continue;
    if (holdsPrivateKey(path)) secrets.push({ member, reference: `file:${path}` });
    else files.add(path);
  }
  return { files: [...files], secrets };
}

/**
 * Returns the absolute paths that a configuration names in the places of files that a backup has:
 * no secret, no program, no socket, no state. The files need not exist.
 */
export function namedPaths(config: Config): ReadonlySet<string> {
  const paths = new Set(named(config).paths.keys());
  // The token host loads it: nothing that also is something else may take its place.
  if (config.token.modulePath !== undefined) paths.delete(config.token.modulePath);
  return paths;
}

interface Named {
  /** The first member that names a path. */
  readonly paths: Map<string, string>;
  readonly secrets: { readonly member: string; readonly reference: string }[];
}

function named(config: Config): Named {
  const found: Named = { paths: new Map(), secrets: [] };
  const look = (value: unknown, member: string): void => {
    if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) look(inner, member === '' ? name : `${member}.${name}`);
    } else if (typeof value === 'string' && !otherMembers.test(member)) {
      if (/^(file|credential):./.test(value) || member === privateKeyMember)
        found.secrets.push({ member, reference: secretReference(value) });
      else if (isAbsolute(value) && !found.paths.has(value)) found.paths.set(value, member);
    }
  };
  look(config, '');
  return found;
}

/** Returns a secret as the configuration refers to it, also if it is a path by now. */
function secretReference(value: string): string {
  if (!isAbsolute(value)) return value;
  const name = daemonsCredential(value);
  return name === undefined ? `file:${value}` : `credential:${name}`;
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function holdsPrivateKey(path: string): boolean {
  return statSync(path).size <= keyMaxBytes && readFileSync(path).includes('PRIVATE KEY-----');
}
