import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Encrypter } from 'age-encryption';
import type { Manifest, Part } from '../../src/backup/manifest.ts';
import { snapshotFacts } from '../../src/state/snapshot/snapshot-facts.ts';
import { SqliteSnapshot } from '../../src/state/snapshot/sqlite-snapshot.ts';
import { tarEnd, tarHeader, tarPadding } from '../../src/tar/header.ts';
import { StoreHere } from '../support/store-here.ts';

/** A configuration with files in the given places. */
export function configurationText({
  directory = '/etc/signetd',
  state = '/var/lib/signetd',
  audit = '/var/log/signetd/audit',
  more = '',
} = {}): string {
  return `listeners: { api: { certificate: ${directory}/tls/server.pem, key: "credential:tls-key", clientCertificateAuthority: ${directory}/tls/client-ca.pem } }
token: { label: prod, pin: "credential:pin", host: external }
state: { path: ${state}/state.sqlite }
audit: { directory: ${audit} }
transferStore: { directory: ${state}/transfer }
certificateAuthorities: { issuing: { certificate: ${directory}/ca.pem, keyId: "49${'0'.repeat(32)}" } }
tenants: { bank: { certificateAuthority: issuing, profile: { keyType: P-256 } } }
${more}`;
}

export function partOf(kind: Part['kind'], name: string, path: string | null, content: Uint8Array = Buffer.from('x')): Part {
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { kind, name, path, bytes: content.length, sha256, user: 'root', group: 'root', mode: 0o640 };
}

export function configurationPart(path: string, content?: Uint8Array): Part {
  return partOf('configuration', `configuration${path}`, path, content);
}

export function manifestOf(parts: readonly Part[], members: Partial<Manifest> = {}): Manifest {
  return {
    ...{ format: 'signetd backup', formatVersion: 1, time: '2026-03-02T10:15:30.123Z' },
    ...{ versions: { signetd: '0.1.0', node: '24.0.0' }, host: 'elsewhere', running: false },
    ...{ configuration: '/etc/signetd/signetd.yaml', secrets: [], token: { label: 'prod', serial: null, keys: 0 } },
    ...{ state: { kind: 'sqlite', migrations: [], hasMacKey: false }, audit: null, account: null, transfer: null },
    ...{ directories: [], parts: [...parts] },
    ...members,
  };
}

/** A file in an archive, or bytes as they are. */
export type Entry = { readonly name: string; readonly content: Uint8Array } | Uint8Array;

/** Returns the bytes of an archive, whose header of an entry may be changed. */
export function archive(entries: readonly Entry[]): Buffer {
  return Buffer.concat([
    ...entries.map((entry) => {
      if (entry instanceof Uint8Array) return entry;
      const { name, content } = entry;
      return Buffer.concat([tarHeader({ name, bytes: content.length, mode: 0o600, modifiedAt: 0 }), content, tarPadding(content.length)]);
    }),
    tarEnd,
  ]);
}

/** Returns a header of another type: a link (1, 2), a device (3, 4), a directory (5), a FIFO (6). */
export function headerOfType(type: string, name: string, target = ''): Buffer {
  const header = tarHeader({ name, bytes: 0, mode: 0o600, modifiedAt: 0 });
  header.write(type, 156, 1, 'latin1');
  header.write(target, 157, 100, 'latin1');
  header.fill(0x20, 148, 156);
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
    8,
    'latin1',
  );
  return header;
}

export async function encrypted(path: string, recipient: string, bytes: Uint8Array): Promise<string> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  writeFileSync(path, await encrypter.encrypt(bytes));
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** An empty state store, as a backup has it, and what the manifest says of it. */
export async function emptyState(): Promise<{ readonly content: Buffer; readonly said: Manifest['state'] }> {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-made-state-'));
  try {
    const path = join(directory, 'state.sqlite');
    await (await StoreHere.open(path)).close();
    const snapshot = await SqliteSnapshot.open(path);
    const { migrations, hasMacKey } = await snapshotFacts(snapshot, 'signetd');
    await snapshot.close();
    return { content: readFileSync(path), said: { kind: 'sqlite', migrations: [...migrations], hasMacKey } };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
