import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hourMs } from '../../support/scratch-authority.ts';
import { as, authority, newAuthority, sClient, scratchListener, type ScratchListener } from './scratch-listener.ts';

const good = authority.issue('good');
const versions = ['-tls1_2', '-tls1_3'] as const;
let listener: ScratchListener;

beforeAll(async () => {
  listener = await scratchListener({ list: authority.revocationList() });
});
afterAll(() => {
  listener.close();
});

/** The reasons that a piece of work adds to the audit log. */
async function reasonsOf(work: () => Promise<unknown>): Promise<string[]> {
  const before = listener.audited.length;
  await work();
  return listener.audited.slice(before);
}

describe('the handshake', () => {
  it.each(versions)('serves a good client over %s, by OpenSSL', async (version) => {
    const output = await sClient(listener.port, [version, ...as(good)]);
    expect(output).toContain('HTTP/1.1 200 OK');
    expect(output).toContain('Verify return code: 0 (ok)');
  });

  it.each([
    ['RSA-2048', ['-newkey', 'rsa:2048']],
    ['RSA-PSS', ['-newkey', 'rsa-pss', '-pkeyopt', 'rsa_keygen_bits:2048']],
    ['P-384', ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384']],
    ['P-521', ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-521']],
    ['Ed25519', ['-newkey', 'ed25519']],
  ])('takes clients with a key %s over both versions', async (_name, newKey) => {
    const client = authority.issue('client', { newKey });
    for (const version of versions) expect(await sClient(listener.port, [version, ...as(client)])).toContain('HTTP/1.1 200 OK');
  });

  it.each([
    ['TLS 1.1', ['-tls1_1', '-cipher', 'ALL:@SECLEVEL=0'], /protocol version/],
    ['CBC', ['-tls1_2', '-cipher', 'ECDHE-ECDSA-AES256-SHA384'], /handshake failure/],
    ['no forward secrecy', ['-tls1_2', '-cipher', 'AES256-GCM-SHA384'], /handshake failure/],
    ['finite-field Diffie-Hellman', ['-tls1_2', '-cipher', 'DHE-RSA-AES256-GCM-SHA384'], /handshake failure/],
    ['CCM with a short tag', ['-tls1_3', '-ciphersuites', 'TLS_AES_128_CCM_8_SHA256'], /handshake failure/],
    ['other curves', ['-tls1_3', '-groups', 'X448:ffdhe2048'], /handshake failure/],
    ['HTTP/2', ['-alpn', 'h2'], /no application protocol/],
  ])('refuses %s', async (_name, args, alert) => {
    const output = await sClient(listener.port, [...args, ...as(good)]);
    expect(output).toMatch(alert);
    expect(output).not.toContain('HTTP/1.1');
  });

  it('chooses HTTP/1.1 by ALPN', async () => {
    expect(await sClient(listener.port, ['-alpn', 'h2,http/1.1', ...as(good)])).toContain('ALPN protocol: http/1.1');
  });

  it('refuses a SHA-1 signature of a client', async () => {
    const output = await sClient(listener.port, [
      '-tls1_2',
      '-cipher',
      'ALL:@SECLEVEL=0',
      '-client_sigalgs',
      'ECDSA+SHA1',
      '-sigalgs',
      'ECDSA+SHA1:ECDSA+SHA256',
      ...as(good),
    ]);
    expect(output).not.toContain('HTTP/1.1');
    expect(output).toMatch(/Requested Signature Algorithms: (?!.*SHA1)/);
  });

  it('refuses to renegotiate, and continues to serve', async () => {
    expect(await sClient(listener.port, ['-tls1_2', ...as(good), '-no_ign_eof'], 'R\n')).toMatch(/RENEGOTIATING[^]*no renegotiation/);
    expect(await sClient(listener.port, ['-tls1_2', ...as(good)])).toContain('HTTP/1.1 200 OK');
  });

  it.each(versions)('resumes no session over %s', async (version) => {
    const directory = mkdtempSync(join(tmpdir(), 'signetd-session-'));
    const session = join(directory, 'session.pem');
    const first = await sClient(listener.port, [version, ...as(good), '-sess_out', session]);
    expect(first).toContain('HTTP/1.1 200 OK');
    const second = await sClient(listener.port, [version, ...as(good), '-sess_in', session]);
    rmSync(directory, { recursive: true, force: true });
    expect(second).toContain('HTTP/1.1 200 OK');
    expect(second).toContain('New, TLSv1');
    expect(second).not.toContain('Reused, ');
  });
});

describe('whom it refuses, before any HTTP, with the reason in log and audit', () => {
  const stranger = newAuthority('clients').issue('stranger');
  const expired = authority.issue('expired', { from: new Date(Date.now() - 2 * hourMs), until: new Date(Date.now() - hourMs) });
  const early = authority.issue('early', { from: new Date(Date.now() + hourMs), until: new Date(Date.now() + 2 * hourMs) });
  const serverOnly = authority.issue('server', { extendedKeyUsage: 'serverAuth' });
  const short = authority.issue('short', { newKey: ['-newkey', 'rsa:1024'] });

  it.each([
    ['no certificate', undefined, /^no client certificate$/],
    ['the certificate of another CA of the same name', stranger, /is of a CA that is not in .* \(UNABLE_TO_GET_ISSUER_CERT_LOCALLY\)$/],
    ['an expired one', expired, /has expired \(CERT_HAS_EXPIRED\)$/],
    ['one that is not valid yet', early, /not valid yet \(CERT_NOT_YET_VALID\)$/],
    ['one that is not for clients', serverOnly, /not for TLS clients \(INVALID_PURPOSE\)$/],
    ['one with an RSA key of 1024 bits', short, /\(UNSPECIFIED\)$/],
  ])('%s', async (_name, files, reason) => {
    for (const version of versions) {
      let output = '';
      const reasons = await reasonsOf(async () => {
        output = await sClient(listener.port, [version, ...(files === undefined ? [] : [...as(files), '-cipher', 'ALL:@SECLEVEL=0'])]);
      });
      expect(output).not.toContain('HTTP/1.1');
      expect(reasons).toEqual([expect.stringMatching(reason)]);
      expect(listener.log.lines.some((line) => line.includes('a client is refused') && line.includes(reasons[0] ?? ''))).toBe(true);
    }
  });

  it('a handshake that fails, by the name that OpenSSL has for the fault', async () => {
    const reasons = await reasonsOf(async () => sClient(listener.port, ['-tls1_1', '-cipher', 'ALL:@SECLEVEL=0', ...as(good)]));
    expect(reasons).toEqual(['TLS handshake: ERR_SSL_UNSUPPORTED_PROTOCOL']);
  });
});
