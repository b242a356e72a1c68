import { execFileSync } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { call, codeOf, contentDocument, description, newKey, root, secretOf, type TestKey } from '../support/api.ts';
import { succeeds } from '../support/succeeds.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-verify-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

async function download(url: string): Promise<Buffer> {
  const response = await fetch(url);
  expect([url, response.status]).toEqual([url, 200]);
  return Buffer.from(await response.arrayBuffer());
}

/** The certificates above one, as it says itself where they are. */
async function issuersOf(certificate: X509Certificate): Promise<X509Certificate[]> {
  const found: X509Certificate[] = [];
  for (let last = certificate; ;) {
    const [, url] = /CA Issuers - URI:(\S+)/.exec(last.infoAccess ?? '') ?? [];
    if (url === undefined) return found;
    last = new X509Certificate(await download(url));
    found.push(last);
  }
}

/** What `openssl verify` says, told nothing but the root: it fetches the CRLs, and we the issuers, from where the certificates say. */
async function verdict({ certificate }: Pick<TestKey, 'certificate'>): Promise<string> {
  const leaf = new X509Certificate(certificate);
  const name = createHash('sha256').update(certificate).digest('hex');
  const [leafFile, issuers] = [join(directory, `${name}.pem`), join(directory, `${name}-issuers.pem`)];
  writeFileSync(leafFile, leaf.toString());
  writeFileSync(issuers, (await issuersOf(leaf)).map(String).join(''));
  const command = ['verify', '-x509_strict', '-crl_check_all', '-crl_download', '-CAfile', root, '-untrusted', issuers, leafFile];
  return execFileSync('sh', ['-c', 'openssl "$@" 2>&1 || true', 'sh', ...command], { encoding: 'utf8' });
}

describe('a party that knows only the root', () => {
  it.each(['app', 'other', 'p384'] as const)(
    'verifies a certificate of %s with its chain and CRLs, and learns of its revocation once it is answered',
    async (client) => {
      const key = await newKey(client);
      expect(await verdict(key)).toContain(': OK');
      const certificate = key.certificate.toString('base64');
      expect(codeOf(await call(client, 'pki/revokeCertificate', { certificate, reason: 'KEY_COMPROMISE' }))).toBe('0/0');
      expect(await verdict(key)).toContain('certificate revoked');
    },
  );

  it('learns of a hold and of its end', async () => {
    const key = await newKey('other');
    const certificate = key.certificate.toString('base64');
    await call('other', 'pki/revokeCertificate', { certificate, reason: 'CERTIFICATE_HOLD' });
    expect(await verdict(key)).toContain('certificate revoked');
    await call('other', 'pki/revokeCertificate', { certificate, reason: 'REMOVE_FROM_CRL' });
    expect(await verdict(key)).toContain(': OK');
  });

  it('gets a CRL without the certificate in a signature that is made right after its hold has ended', async () => {
    const key = await newKey('other');
    const certificate = key.certificate.toString('base64');
    await call('other', 'pki/revokeCertificate', { certificate, reason: 'CERTIFICATE_HOLD' });
    expect(await verdict(key)).toContain('certificate revoked');
    await call('other', 'pki/revokeCertificate', { certificate, reason: 'REMOVE_FROM_CRL' });
    const byCrl = { timeStamp: {}, longTermValidation: { signerRevocationValueChoice: 'CRL' } };
    const answer = await call('other', 'signature/sign', {
      keyReference: secretOf(key),
      parameters: { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } }, ...byCrl } },
      inputDocuments: [contentDocument('Bon pour accord')],
    });
    succeeds(answer);
  });

  it('gets the certificates of both authorities', async () => {
    const { publicUrl = '' } = description;
    expect(await download(`${publicUrl}/pki/root.cer`)).toEqual(new X509Certificate(readFileSync(root)).raw);
    expect((await download(`${publicUrl}/pki/root.crl`)).length).toBeGreaterThan(100);
    expect((await fetch(`${publicUrl}/pki/other.crl`)).status).toBe(404);
    expect((await fetch(`${publicUrl}/`)).status).toBe(404);
  });
});

describe('the operator', () => {
  it('sees when the CRLs end', async () => {
    const text = await (await fetch(`${description.opsUrl}/metrics`)).text();
    for (const authority of ['root', 'issuing']) {
      const [, seconds = ''] = new RegExp(`signetd_crl_expiry_seconds{authority="${authority}"} (\\d+)`).exec(text) ?? [];
      expect(Number(seconds)).toBeGreaterThan(3600);
    }
  });
});

describe('revokeCertificate with an Idempotency-Key', () => {
  it('answers a repetition by the first outcome', async () => {
    const key = await newKey('other');
    const body = { certificate: key.certificate.toString('base64'), reason: 'SUPERSEDED' };
    const headers = { 'Idempotency-Key': `revoke-${key.reference}` };
    const first = await call('other', 'pki/revokeCertificate', body, headers);
    expect(codeOf(first)).toBe('0/0');
    const second = await call('other', 'pki/revokeCertificate', body, headers);
    expect(second.body).toEqual(first.body);
    expect(codeOf(await call('other', 'pki/revokeCertificate', body))).toBe('2/212');
  });
});
