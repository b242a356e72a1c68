import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** CKA_ID of every private key on a quickstart's token, hexadecimal, as pkcs11-tool lists them. */
export function privateKeysOnToken(quickstartDirectory: string): string[] {
  const directory = join(quickstartDirectory, 'token');
  return privateKeysOf({
    label: 'signetd',
    pin: readFileSync(join(directory, 'pin'), 'utf8').trim(),
    softhsmConfig: join(directory, 'softhsm2.conf'),
  });
}

/** The same of any SoftHSM token. */
export function privateKeysOf({ label, pin, softhsmConfig }: { label: string; pin: string; softhsmConfig: string }): string[] {
  const listing = execFileSync(
    'pkcs11-tool',
    [
      ...['--module', '/usr/lib/softhsm/libsofthsm2.so', '--token-label', label],
      ...['--login', '--pin', pin],
      ...['--list-objects', '--type', 'privkey'],
    ],
    {
      env: { ...process.env, SOFTHSM2_CONF: softhsmConfig },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  return [...listing.matchAll(/^\s+ID:\s+([0-9a-f]+)$/gm)].map((match) => match[1] ?? '');
}

/** Gives a private key on a quickstart's token another CKA_ID, as the vendor's tool does. */
export function changeKeyId(quickstartDirectory: string, id: string, next: string): void {
  const directory = join(quickstartDirectory, 'token');
  execFileSync(
    'pkcs11-tool',
    [
      ...['--module', '/usr/lib/softhsm/libsofthsm2.so', '--token-label', 'signetd'],
      ...['--login', '--pin', readFileSync(join(directory, 'pin'), 'utf8').trim()],
      ...['--type', 'privkey', '--id', id, '--set-id', next],
    ],
    { env: { ...process.env, SOFTHSM2_CONF: join(directory, 'softhsm2.conf') }, stdio: 'ignore' },
  );
}

/** Deletes a private key from a quickstart's token, as the vendor's tool does. */
export function deletePrivateKey(quickstartDirectory: string, id: string): void {
  const directory = join(quickstartDirectory, 'token');
  execFileSync(
    'pkcs11-tool',
    [
      ...['--module', '/usr/lib/softhsm/libsofthsm2.so', '--token-label', 'signetd'],
      ...['--login', '--pin', readFileSync(join(directory, 'pin'), 'utf8').trim()],
      ...['--delete-object', '--type', 'privkey', '--id', id],
    ],
    { env: { ...process.env, SOFTHSM2_CONF: join(directory, 'softhsm2.conf') }, stdio: 'ignore' },
  );
}
