import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, codeOf, description, newKey, root, type TestKey } from '../support/api.ts';

const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), 'signetd-ocsp-'));
const issuing = join(directory, 'issuing.pem');

beforeAll(async () => {
  const der = await (await fetch(`${description.publicUrl}/pki/issuing.cer`)).arrayBuffer();
  writeFileSync(issuing, new X509Certificate(Buffer.from(der)).toString());
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** What `openssl ocsp` says of a certificate, told nothing but the root: the certificate names the responder. */
async function openssl(key: Pick<TestKey, 'certificate' | 'reference'>, ...more: string[]): Promise<string> {
  const leaf = join(directory, `${key.reference}.pem`);
  const certificate = new X509Certificate(key.certificate);
  writeFileSync(leaf, certificate.toString());
  const [, url = ''] = /OCSP - URI:(\S+)/.exec(certificate.infoAccess ?? '') ?? [];
  // A hash function is for the certificates after it.
  const { stdout, stderr } = await run('openssl', ['ocsp', ...more, '-issuer', issuing, '-cert', leaf, '-url', url, '-CAfile', root]);
  return stderr + stdout;
}

async function revoke(key: TestKey, reason: string): Promise<void> {
  const certificate = key.certificate.toString('base64');
  expect(codeOf(await call('other', 'pki/revokeCertificate', { certificate, reason }))).toBe('0/0');
}

describe('OCSP, for a party that knows only the root', () => {
  it.each([[], ['-no_nonce'], ['-no_nonce', '-sha256'], ['-sha384'], ['-sha512']])(
    'says good, and the signature verifies (%s)',
    async (...options) => {
      const key = await newKey('other');
      const said = await openssl(key, ...options);
      expect(said).toContain('Response verify OK');
      expect(said).toContain(': good');
      expect(said.includes('no nonce')).toBe(false);
    },
  );

  it('says a revocation, with reason and date, and a hold and its end, as soon as they are answered', async () => {
    const key = await newKey('other');
    expect(await openssl(key, '-no_nonce')).toContain(': good');
    await revoke(key, 'CERTIFICATE_HOLD');
    expect(await openssl(key, '-no_nonce')).toMatch(/: revoked[^]*Reason: certificateHold/);
    await revoke(key, 'REMOVE_FROM_CRL');
    expect(await openssl(key, '-no_nonce')).toContain(': good');
    await revoke(key, 'KEY_COMPROMISE');
    expect(await openssl(key, '-no_nonce')).toMatch(/: revoked[^]*Reason: keyCompromise\s+Revocation Time:/);
    expect(await openssl(key)).toMatch(/Response verify OK[^]*: revoked/);
  });

  it('knows the certificate of the issuing authority, asked of the root', async () => {
    const url = `${description.publicUrl}/ocsp/root`;
    const { stdout, stderr } = await run('openssl', ['ocsp', '-issuer', root, '-cert', issuing, '-url', url, '-CAfile', root]);
    expect(stderr).toContain('Response verify OK');
    expect(stdout).toContain(': good');
    expect(readFileSync(issuing, 'utf8')).toContain('BEGIN');
  });
});
