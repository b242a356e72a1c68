import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../src/config/config.ts';
import { readSecret } from '../src/config/secret-reference.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-config-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const good = `
listeners: { api: { certificate: server.pem, key: server.key, clientCertificateAuthority: clients.pem } }
token: { label: prod, pin: "credential:pin" }
certificateAuthorities: { issuing: { certificate: ca.pem, keyId: "53${'0'.repeat(32)}" } }
tenants: { bank: { certificateAuthority: issuing, profile: { keyType: P-256 } } }
`;

function load(text: string): ReturnType<typeof loadConfig> {
  const path = join(directory, 'signetd.yaml');
  writeFileSync(path, text);
  return loadConfig(path);
}

describe('the configuration', () => {
  it('has safe defaults, and paths relative to the file', () => {
    const config = load(good);
    expect(config.listeners.operations).toEqual({ host: '127.0.0.1', port: 9443 });
    expect(config.limits).toMatchObject({ jsonBodyMaxBytes: 64 * 1024 * 1024, documentsMax: 100, drainSeconds: 30 });
    expect(config.listeners.api.certificate).toBe(join(directory, 'server.pem'));
    expect(config.tenants['bank']?.allowSha1).toBe(false);
  });

  it.each([
    ['an unknown member', good.replace('label: prod', 'label: prod, lable: x'), 'token'],
    ['a PIN in clear', good.replace('credential:pin', '1234'), 'token.pin'],
    [
      'an authority that is not configured',
      good.replace('certificateAuthority: issuing', 'certificateAuthority: other'),
      'tenants.bank.certificateAuthority',
    ],
    ['a member twice', `${good}\nlog: { level: info, level: debug }`, 'unique'],
    ["a caller's key for an authority", good.replace(`53${'0'.repeat(32)}`, `43${'0'.repeat(32)}`), 'keyId'],
    ['no YAML', '{', ''],
  ])('refuses %s and names it', (_name, text, named) => {
    expect(() => load(text)).toThrow(ConfigError);
    expect(() => load(text)).toThrow(named);
  });

  it('takes a secret only from a file that nobody else can read', () => {
    const file = join(directory, 'pin');
    writeFileSync(file, '1234\n', { mode: 0o644 });
    expect(() => readSecret(`file:${file}`)).toThrow('chmod 0600');
    rmSync(file);
    writeFileSync(file, '1234\n', { mode: 0o600 });
    expect(readSecret(`file:${file}`)).toBe('1234');
  });
});
