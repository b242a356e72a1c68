import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { namedFiles } from '../../src/backup/named-files.ts';
import { loadConfig } from '../../src/config/config.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-named-'));
const path = join(directory, 'signetd.yaml');
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** The secrets of a configuration with this key of the API. */
function secretsWith(key: string): unknown {
  writeFileSync(
    path,
    `listeners: { api: { certificate: server.pem, key: "${key}", clientCertificateAuthority: clients.pem } }
token: { label: prod, pin: "credential:pin" }
certificateAuthorities: { issuing: { certificate: ca.pem, keyId: "49${'0'.repeat(32)}" } }
tenants: { bank: { certificateAuthority: issuing, profile: { keyType: P-256 } } }
`,
  );
  return namedFiles(loadConfig(path)).secrets.map(({ member, reference }) => `${member} ${reference}`);
}

it.each([
  ['credential:tls-key', 'credential:tls-key'],
  ['tls/server.key', `file:${directory}/tls/server.key`],
])('names the key of the API %s as the configuration does', (key, reference) => {
  expect(secretsWith(key)).toEqual([`listeners.api.key ${reference}`, 'token.pin credential:pin']);
});
