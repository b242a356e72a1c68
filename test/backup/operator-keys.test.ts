import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decrypterWith, encrypterFor } from '../../src/backup/operator-keys.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-operator-keys-'));
let identity: string;
let recipient: string;

beforeAll(async () => {
  identity = await generateX25519Identity();
  recipient = await identityToRecipient(identity);
});

afterAll(() => {
  rmSync(directory, { recursive: true });
});

function file(text: string, mode = 0o600): string {
  const path = join(directory, 'keys.txt');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

describe("operators' keys", () => {
  it('are public keys, or files of them with comments', () => {
    expect(encrypterFor([recipient]).recipients).toEqual([recipient]);
    expect(encrypterFor([file(`# Camille\n${recipient}\n\n`), recipient]).recipients).toEqual([recipient]);
  });

  it('are refused if they are wrong, and a private key is never taken for a public one', () => {
    expect(() => encrypterFor(['age1nonsense0000'])).toThrow('not a public key of age');
    expect(() => encrypterFor(['/nowhere/keys'])).toThrow('neither a public key (age1…) nor a file');
    expect(() => encrypterFor([file(`# public key: ${recipient}\n${identity}\n`)])).toThrow(
      'has a private key, which must not be on this machine',
    );
    expect(() => encrypterFor([file('ssh-ed25519 AAAA\n')])).toThrow('line 1 that is no comment is not a public key');
    expect(() => encrypterFor([file('# nothing\n')])).toThrow('the file has no public key');
  });

  it('that are private are read from files that nobody else can read, and are in no message', () => {
    expect(() => decrypterWith(file(`# created: today\n${identity}\n`))).not.toThrow();
    expect(() => decrypterWith(file(identity, 0o644))).toThrow('others may read this file');
    const wrong = `${identity.slice(0, -1)}${identity.endsWith('Q') ? 'P' : 'Q'}`;
    expect(() => decrypterWith(file(wrong))).toThrow(/^(?!.*AGE-SECRET-KEY-1).*a character of it is wrong$/);
    expect(() => decrypterWith(file('-----BEGIN AGE ENCRYPTED FILE-----\n'))).toThrow('decrypt it to standard input');
  });
});
