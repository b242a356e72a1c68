import { readFileSync } from 'node:fs';
import { Decrypter, Encrypter } from 'age-encryption';
import { readSecret } from '../config/secret-reference.ts';
import { ConfigError } from '../config/config-error.ts';
import { reasonOf } from '../telemetry/reason-of.ts';

/** A public key of an operator, or a private one, cannot be used. */
export class OperatorKeyFault extends Error {}

/** Public keys for encryption and, for post-quantum or hardware keys, their longer forms. */
const publicKey = /^age1[0-9a-z]{10,4000}$/;
const privateKey = /^AGE-SECRET-KEY-[0-9A-Z-]{10,4000}$/;

/**
 * Returns an encrypter for operators' public keys.
 * @param named each a public key (`age1…`), or a file with one on each line; lines with `#` are
 *   comments
 * @throws {OperatorKeyFault}
 */
export function encrypterFor(named: readonly string[]): { readonly encrypter: Encrypter; readonly recipients: readonly string[] } {
  const recipients = named.flatMap((one) => (publicKey.test(one) ? [one] : recipientsIn(one)));
  const encrypter = new Encrypter();
  for (const recipient of new Set(recipients)) {
    try {
      encrypter.addRecipient(recipient);
    } catch (error) {
      throw new OperatorKeyFault(`${recipient}: not a public key of age: ${reasonOf(error)}`, { cause: error });
    }
  }
  return { encrypter, recipients: [...new Set(recipients)] };
}

function recipientsIn(path: string): string[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new OperatorKeyFault(`${path}: neither a public key (age1…) nor a file with public keys: ${reasonOf(error)}`, { cause: error });
  }
  // A file made by age-keygen is the private key: its public key must not hide that.
  if (text.includes('AGE-SECRET-KEY-'))
    throw new OperatorKeyFault(`${path}: this file has a private key, which must not be on this machine`);
  const lines = meaningfulLines(text);
  const wrong = lines.findIndex((line) => !publicKey.test(line));
  if (wrong >= 0) throw new OperatorKeyFault(`${path}: line ${wrong + 1} that is no comment is not a public key (age1…)`);
  if (lines.length === 0) throw new OperatorKeyFault(`${path}: the file has no public key`);
  return lines;
}

/**
 * Returns a decrypter with the private keys of a file as age-keygen writes it. `-` is standard
 * input, for a key that is itself encrypted.
 * @throws {OperatorKeyFault}
 */
export function decrypterWith(path: string): Decrypter {
  const lines = meaningfulLines(readPrivate(path));
  if (lines.length === 0 || !lines.every((line) => privateKey.test(line)))
    throw new OperatorKeyFault(
      `${path}: not a private key of age (AGE-SECRET-KEY-1…); if it is encrypted, decrypt it to standard input: age -d ${path} | signetctl … --identity -`,
    );
  const decrypter = new Decrypter();
  for (const line of lines) {
    try {
      decrypter.addIdentity(line);
    } catch {
      // The library's message may quote the key.
      throw new OperatorKeyFault(`${path}: not a private key of age: a character of it is wrong`);
    }
  }
  return decrypter;
}

function readPrivate(path: string): string {
  try {
    return path === '-' ? readFileSync(0, 'utf8') : readSecret(`file:${path}`, 'anyone');
  } catch (error) {
    if (error instanceof ConfigError) throw new OperatorKeyFault(error.message.replace(/^file:/, ''), { cause: error });
    throw new OperatorKeyFault(`${path}: ${reasonOf(error)}`, { cause: error });
  }
}

function meaningfulLines(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}
