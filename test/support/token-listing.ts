import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { SecondToken } from './second-token.ts';
import { errorCode } from '../../src/telemetry/error-code.ts';

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
  const copy = mkdtempSync(join(tmpdir(), 'signetd-listing-'));
  try {
    const listing = execFileSync(
      'pkcs11-tool',
      [
        ...['--module', '/usr/lib/softhsm/libsofthsm2.so', '--token-label', label],
        ...['--login', '--pin', pin],
        ...['--list-objects', '--type', 'privkey'],
      ],
      {
        env: { ...process.env, SOFTHSM2_CONF: copyToken(softhsmConfig, copy) },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    return idsIn(listing);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** The same of a token of Kryoptic, which processes may list while another one uses it. */
export function privateKeysOfSecond({ settings: { modulePath, environment }, label, pin }: SecondToken): string[] {
  const listing = execFileSync(
    'pkcs11-tool',
    ['--module', modulePath, '--token-label', label, '--login', '--pin', pin, '--list-objects', '--type', 'privkey'],
    { env: { ...process.env, ...environment }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  return idsIn(listing);
}

function idsIn(listing: string): string[] {
  return [...listing.matchAll(/^\s+ID:\s+([0-9a-f]+)$/gm)].map((match) => match[1] ?? '');
}

/**
 * Copies the tokens of a SoftHSM, and returns the configuration for the copy. Whoever reads an object with SoftHSM adds the attributes
 * that it lacks, and rewrites its file: a key that the token host is just making would lose those that the host has set.
 */
function copyToken(softhsmConfig: string, directory: string): string {
  const settings = readFileSync(softhsmConfig, 'utf8');
  const tokens = /^directories\.tokendir\s*=\s*(.*)$/m.exec(settings)?.[1] ?? '';
  for (const name of readdirSync(tokens, { recursive: true, encoding: 'utf8' })) {
    mkdirSync(join(directory, 'tokens', dirname(name)), { recursive: true });
    try {
      if (statSync(join(tokens, name)).isFile()) copyFileSync(join(tokens, name), join(directory, 'tokens', name));
    } catch (error) {
      // The key was destroyed meanwhile.
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }
  const config = join(directory, 'softhsm2.conf');
  writeFileSync(config, settings.replace(/^directories\.tokendir.*$/m, `directories.tokendir = ${directory}/tokens`));
  return config;
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
