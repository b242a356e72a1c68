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
  const files = new Set<string>();
  const secrets: { member: string; reference: string }[] = [];
  const look = (value: unknown, member: string): void => {
    if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value)) look(inner, member === '' ? name : `${member}.${name}`);
    } else if (typeof value === 'string' && !otherMembers.test(member)) {
      if (/^(file|credential):./.test(value) || member === privateKeyMember) secrets.push({ member, reference: secretReference(value) });
      else if (isAbsolute(value) && isFile(value)) {
        if (holdsPrivateKey(value)) secrets.push({ member, reference: `file:${value}` });
        else files.add(value);
      }
    }
  };
  look(config, '');
  return { files: [...files], secrets };
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
