import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { namedFiles, namedPaths } from '../../src/backup/named-files.ts';
import { loadConfig, type Config } from '../../src/config/config.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-named-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

function configWith(key = 'credential:tls-key', { token = '', more = '' } = {}): Config {
  const path = join(directory, 'signetd.yaml');
  writeFileSync(
    path,
    `listeners: { api: { certificate: server.pem, key: "${key}", clientCertificateAuthority: clients.pem } }
token: { label: prod, pin: "credential:pin"${token} }
certificateAuthorities: { issuing: { certificate: ca.pem, keyId: "49${'0'.repeat(32)}" } }
tenants: { bank: { certificateAuthority: issuing, profile: { keyType: P-256 } } }
${more}`,
  );
  return loadConfig(path);
}

const secretsOf = (config: Config): unknown => namedFiles(config).secrets.map(({ member, reference }) => `${member} ${reference}`);
const at = (name: string): string => join(directory, name);
/** What a private key looks like, in PEM. */
const keyText = (kind: string): string => `-----BEGIN ${kind}PRIVATE KEY-----\nMIIB\n-----END ${kind}PRIVATE KEY-----\n`;

describe('the secrets that a configuration names', () => {
  it.each([
    ['credential:tls-key', () => 'credential:tls-key'],
    ['tls/server.key', () => `file:${at('tls/server.key')}`],
  ])('have the key of the API %s as the configuration does', (key, reference) => {
    expect(secretsOf(configWith(key))).toEqual([`listeners.api.key ${reference()}`, 'token.pin credential:pin']);
  });

  it('have the key of the API, whatever is in the file', () => {
    writeFileSync(at('server.key'), 'not a key');
    const config = configWith('server.key');
    expect(namedFiles(config)).toMatchObject({ files: [], secrets: [{ member: 'listeners.api.key' }, { member: 'token.pin' }] });
    expect(namedPaths(config).has(at('server.key'))).toBe(false);
  });

  it.each(['', 'EC ', 'RSA ', 'ENCRYPTED '])('have files of any name that hold a private key (%s)', (kind) => {
    writeFileSync(at('server.pem'), `-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n${keyText(kind)}`);
    writeFileSync(at('ca.pem'), keyText(kind));
    writeFileSync(at('clients.pem'), '-----BEGIN CERTIFICATE-----\n');
    expect(namedFiles(configWith())).toEqual({
      files: [at('clients.pem')],
      secrets: [
        { member: 'listeners.api.key', reference: 'credential:tls-key' },
        { member: 'token.pin', reference: 'credential:pin' },
        { member: 'listeners.api.certificate', reference: `file:${at('server.pem')}` },
        { member: 'certificateAuthorities.issuing.certificate', reference: `file:${at('ca.pem')}` },
      ],
    });
  });

  it('have a file that several members name once, by the first of them', () => {
    writeFileSync(at('server.pem'), keyText(''));
    const more = `clientAuthority: { certificate: server.pem, keyId: "52${'1'.repeat(32)}" }\n`;
    const secrets = namedFiles(configWith('credential:k', { more })).secrets.filter(({ reference }) => reference.startsWith('file:'));
    expect(secrets).toEqual([{ member: 'listeners.api.certificate', reference: `file:${at('server.pem')}` }]);
  });

  it('have a private key in a file of up to 1 MiB; a larger one is none', () => {
    const key = keyText('');
    writeFileSync(at('server.pem'), key.padEnd(1 << 20));
    writeFileSync(at('ca.pem'), key.padEnd((1 << 20) + 1));
    expect(namedFiles(configWith()).files).toEqual([at('ca.pem')]);
  });
});

describe('the files that a configuration names', () => {
  it('are regular ones, each once; no directory, no program, no state, no socket', () => {
    for (const name of ['server.pem', 'module.so', 'state.sqlite', 'token.sock', 'admin.sock', 'operations.sock'])
      writeFileSync(at(name), '');
    mkdirSync(at('clients.pem'));
    symlinkSync('server.pem', at('ca.pem'));
    const more = `state: { path: state.sqlite }\nadmin: { socketPath: admin.sock }\nclientAuthority: { certificate: server.pem, keyId: "52${'1'.repeat(32)}" }\n`;
    const config = configWith('credential:k', { token: ', modulePath: module.so, socketPath: token.sock', more });
    expect(namedFiles(config).files.toSorted()).toEqual([at('ca.pem'), at('server.pem')]);
    const paths = namedPaths(config);
    expect(['clients.pem', 'ca.pem', 'server.pem'].every((name) => paths.has(at(name)))).toBe(true);
    expect([...paths].filter((path) => !isAbsolute(path))).toEqual([]);
    expect(['module.so', 'state.sqlite', 'token.sock', 'admin.sock'].some((name) => paths.has(at(name)))).toBe(false);
  });

  it('are not the module of the token, even if another member names it too', () => {
    writeFileSync(at('module.so'), '');
    const more = `clientAuthority: { certificate: module.so, keyId: "52${'1'.repeat(32)}" }\n`;
    expect(namedPaths(configWith('credential:k', { token: ', modulePath: module.so', more })).has(at('module.so'))).toBe(false);
  });
});
