import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../src/config/config.ts';
import { ConfigError } from '../src/config/config-error.ts';
import { readSecret } from '../src/config/secret-reference.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-config-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const good = `
listeners: { api: { certificate: server.pem, key: server.key, clientCertificateAuthority: clients.pem } }
token: { label: prod, pin: "credential:pin" }
certificateAuthorities: { issuing: { certificate: ca.pem, keyId: "49${'0'.repeat(32)}" } }
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
    expect(config.listeners.operations).toMatchObject({ host: '127.0.0.1', port: 9443 });
    expect(config.limits).toMatchObject({ jsonBodyMaxBytes: 64 * 1024 * 1024, documentsMax: 100, drainSeconds: 30 });
    expect(config.listeners.api.certificate).toBe(join(directory, 'server.pem'));
    expect(config.tenants['bank']?.allowSha1).toBe(false);
  });

  it('takes the key of the API as a path, as file:, or as a credential of systemd', () => {
    const key = (reference: string): string => load(good.replace('key: server.key', `key: ${reference}`)).listeners.api.key;
    expect(['server.key', 'file:server.key', `file:${directory}/server.key`].map(key)).toEqual(
      Array.from({ length: 3 }, () => join(directory, 'server.key')),
    );
    expect(key('file:/elsewhere/server.key')).toBe('/elsewhere/server.key');
    expect(key('credential:tls-key')).toBe('/run/credentials/signetd.service/tls-key');
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
    ["a caller's key for an authority", good.replace(`49${'0'.repeat(32)}`, `43${'0'.repeat(32)}`), 'keyId'],
    ['a key without purpose', good.replace(`49${'0'.repeat(32)}`, `53${'0'.repeat(32)}`), 'signetctl token purpose'],
    [
      "a tenant whose certificates a root's key would sign",
      good.replace(`49${'0'.repeat(32)}`, `52${'0'.repeat(32)}`),
      `tenants.bank.certificateAuthority: "issuing" has the key of a root`,
    ],
    ['the API of CSC where files are', `${good}\npaths: { cscRoot: /ftm/csc }`, 'paths.cscRoot: "/ftm/csc" overlaps with paths.ftmRoot'],
    ['the API of CSC above operations', `${good}\npaths: { cscRoot: /api, signRoot: /api/sign }`, 'overlaps with paths.signRoot'],
    ['no YAML', '{', ''],
  ])('refuses %s and names it', (_name, text, named) => {
    expect(() => load(text)).toThrow(ConfigError);
    expect(() => load(text)).toThrow(named);
  });
});

it('the API of CSC may be beside other operations', () => {
  expect(load(`${good}\npaths: { cscRoot: /api/csc, signRoot: /api/cs }`).paths).toMatchObject({
    cscRoot: '/api/csc',
    signRoot: '/api/cs',
  });
});

describe('a secret', () => {
  const file = join(directory, 'pin');
  const write = (content: string, mode: number): string => {
    rmSync(file, { recursive: true, force: true });
    writeFileSync(file, content);
    chmodSync(file, mode);
    return `file:${file}`;
  };

  it('is what the file says, without the newline at its end', () => {
    expect(readSecret(write('1234\n', 0o600))).toBe('1234');
    expect(readSecret(write('12 34\r\n', 0o400))).toBe('12 34');
  });

  it.each([0o604, 0o650, 0o660, 0o644, 0o602])('is not read from a file of mode %o', (mode) => {
    const reference = write('1234', mode);
    expect(() => readSecret(reference)).toThrow('chmod 0600');
  });

  it("is not read from another user's file, who could change it", (context) => {
    if (process.geteuid?.() !== 0) context.skip('only root can give a file away');
    const reference = write('1234', 0o600);
    chownSync(file, 12_345, 12_345);
    expect(() => readSecret(reference)).toThrow('belongs to user 12345');
  });

  it('is not read from a directory, a pipe, an empty or a huge file, or where there is none', () => {
    symlinkSync(write('1234', 0o600).slice('file:'.length), join(directory, 'link'));
    expect(() => readSecret(`file:${directory}`)).toThrow('not a regular file');
    execFileSync('mkfifo', ['-m', '600', join(directory, 'pipe')]);
    expect(() => readSecret(`file:${join(directory, 'pipe')}`)).toThrow('not a regular file');
    expect(() => readSecret(write('\n', 0o600))).toThrow('empty');
    expect(() => readSecret(write('x'.repeat(20_000), 0o600))).toThrow('too long for a secret');
    expect(() => readSecret('file:/nowhere/at/all')).toThrow('there is no such file');
  });

  it('of systemd is a regular file in its directory, and no other', () => {
    const before = process.env['CREDENTIALS_DIRECTORY'];
    delete process.env['CREDENTIALS_DIRECTORY'];
    expect(() => readSecret('credential:pin')).toThrow('CREDENTIALS_DIRECTORY is not set');
    process.env['CREDENTIALS_DIRECTORY'] = directory;
    write('5678\n', 0o440);
    expect(readSecret('credential:pin')).toBe('5678');
    expect(() => readSecret('credential:../pin')).toThrow('must not contain a slash');
    expect(() => readSecret('credential:..')).toThrow('not a regular file');
    expect(() => readSecret('credential:link')).toThrow('symbolic link');
    if (before === undefined) delete process.env['CREDENTIALS_DIRECTORY'];
    else process.env['CREDENTIALS_DIRECTORY'] = before;
  });

  it('never appears in what is said about it', () => {
    const reference = write('topsecret', 0o644);
    expect(() => readSecret(reference)).toThrow(ConfigError);
    expect(() => readSecret(reference)).not.toThrow('topsecret');
  });
});
