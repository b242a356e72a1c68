import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { hourMs, type CertificateFiles } from '../../support/scratch-authority.ts';
import { OpenConnection } from './open-connection.ts';
import { as, authority, newAuthority, sClient, scratchListener, serverCertificate, type ScratchListener } from './scratch-listener.ts';

/** Between the requests of a client that goes on asking. */
const betweenMs = 20;
const listeners: ScratchListener[] = [];
const connections: OpenConnection[] = [];
afterEach(() => {
  for (const connection of connections.splice(0)) connection.close();
  for (const listener of listeners.splice(0)) listener.close();
});

async function listen(settings: Parameters<typeof scratchListener>[0] = { list: authority.revocationList() }): Promise<ScratchListener> {
  const listener = await scratchListener(settings);
  listeners.push(listener);
  return listener;
}

async function open(listener: ScratchListener, files: CertificateFiles, options?: { chain: string }): Promise<OpenConnection> {
  const connection = await OpenConnection.open(listener.port, files, options);
  connections.push(connection);
  return connection;
}

const served = expect.stringContaining('HTTP/1.1 200 OK') as string;

describe('while a connection is open', () => {
  it.each([
    ['a request', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['Expect: 100-continue', 'POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n'],
    ['another expectation', 'POST / HTTP/1.1\r\nHost: localhost\r\nExpect: the-worst\r\nContent-Length: 2\r\n\r\n'],
    ['bytes that are no HTTP', 'what is this?\r\n\r\n'],
  ])('a certificate that expires ends it without an answer to %s', async (_name, bytes) => {
    const listener = await listen();
    const until = Math.ceil(Date.now() / 1000) * 1000 + 2000;
    const connection = await open(listener, authority.issue('short-lived', { until: new Date(until) }));
    let answers = 0;
    for (
      let answer = await connection.send();
      answer !== '';
      answer = Date.now() > until ? await connection.send(bytes) : await connection.send()
    ) {
      expect(answer).toEqual(served);
      answers += 1;
      await delay(betweenMs);
    }
    expect(answers).toBeGreaterThan(0);
    expect(Date.now()).toBeGreaterThanOrEqual(until);
    expect(listener.audited).toEqual([expect.stringContaining('(CERT_HAS_EXPIRED)')]);
    expect(listener.served.length).toBe(answers);
  });

  it('a CRL that expires ends all of them, and refuses new ones, until there is a newer one', async () => {
    const until = Math.ceil(Date.now() / 1000) * 1000 + 2000;
    const listener = await listen({ list: authority.revocationList({ until: new Date(until) }) });
    const client = authority.issue('client');
    const connection = await open(listener, client);
    while ((await connection.send()) !== '') await delay(betweenMs);
    expect(Date.now()).toBeGreaterThanOrEqual(until);
    expect(await sClient(listener.port, as(client))).not.toContain('HTTP/1.1');
    expect(new Set(listener.audited)).toEqual(
      new Set(['the revocation list of the client CA has expired: install a newer one and reload (CRL_HAS_EXPIRED)']),
    );
    listener.write({ list: authority.revocationList() });
    listener.tls.prepare(listener.config)();
    expect(await sClient(listener.port, as(client))).toContain('HTTP/1.1 200 OK');
  });

  it('a revoked client is disconnected at its next request, others stay', async () => {
    const listener = await listen();
    const [revoked, other] = [authority.issue('revoked'), authority.issue('other')];
    const [first, second] = [await open(listener, revoked), await open(listener, other)];
    expect([await first.send(), await second.send()]).toEqual([served, served]);
    authority.revoke(revoked);
    listener.write({ list: authority.revocationList() });
    expect(await first.send()).toEqual(served);
    listener.tls.prepare(listener.config)();
    expect([await first.send(), await second.send()]).toEqual(['', served]);
    for (const version of ['-tls1_2', '-tls1_3']) expect(await sClient(listener.port, [version, ...as(revoked)])).not.toContain('HTTP/1.1');
    expect(listener.audited.length).toBe(3);
    expect(new Set(listener.audited)).toEqual(new Set(['the client certificate, or one above it, is revoked (CERT_REVOKED)']));
  });

  it('the clients of a CA that is no longer trusted are disconnected; those of a CA renewed with the same key stay', async () => {
    const [old, renewed] = [newAuthority('old'), newAuthority('fresh')];
    const listener = await listen({ authorities: readFileSync(old.certificate, 'latin1') + readFileSync(renewed.certificate, 'latin1') });
    const [ofOld, ofRenewed] = [await open(listener, old.issue('client')), await open(listener, renewed.issue('client'))];
    expect([await ofOld.send(), await ofRenewed.send()]).toEqual([served, served]);
    listener.write({ authorities: readFileSync(newAuthority('fresh', { renewed }).certificate, 'latin1') });
    listener.tls.prepare(listener.config)();
    expect([await ofOld.send(), await ofRenewed.send()]).toEqual(['', served]);
  });

  it('an issuing CA below the root is checked too, and must be configured: certificates that a client sends are ignored', async () => {
    const root = newAuthority('root');
    const issuing = newAuthority('issuing', { parent: root });
    const [rootPem, issuingPem] = [root, issuing].map(({ certificate }) => readFileSync(certificate, 'latin1'));
    const client = issuing.issue('client');
    const listener = await listen({ authorities: `${rootPem}${issuingPem}`, list: `${root.revocationList()}${issuing.revocationList()}` });
    const connection = await open(listener, client);
    expect(await connection.send()).toEqual(served);
    root.revoke({ certificate: issuing.certificate, key: issuing.key });
    listener.write({ list: `${root.revocationList()}${issuing.revocationList()}` });
    listener.tls.prepare(listener.config)();
    expect([await connection.send(), listener.audited]).toEqual(['', [expect.stringContaining('(CERT_REVOKED)')]]);

    const rootAlone = await listen({ authorities: rootPem ?? '' });
    const sending = await open(rootAlone, client, { chain: issuingPem ?? '' });
    expect([await sending.send(), rootAlone.audited]).toEqual(['', [expect.stringContaining('is of a CA that is not in')]]);
    await expect(listen({ authorities: issuingPem ?? '' })).rejects.toThrow(/the CA that issued CN=issuing is missing/);
  });
});

describe('a reload', () => {
  it('shows a new certificate to new connections and drops no open one', async () => {
    const listener = await listen();
    const client = authority.issue('client');
    const before = await open(listener, client);
    listener.write({ certificate: serverCertificate() });
    listener.tls.prepare(listener.config)();
    const after = await open(listener, client);
    expect(after.serverFingerprint).not.toBe(before.serverFingerprint);
    expect([await before.send(), await after.send()]).toEqual([served, served]);
  });

  const older = authority.revocationList({ from: new Date(Date.now() - 2 * hourMs) });
  const past = { from: new Date(Date.now() - 2 * hourMs), until: new Date(Date.now() - hourMs) };
  const future = { from: new Date(Date.now() + hourMs), until: new Date(Date.now() + 2 * hourMs) };
  const impostor = newAuthority('clients');
  const other = newAuthority('somebody');

  it.each<[string, Parameters<ScratchListener['write']>[0], RegExp]>([
    [
      'a key that is not the certificate’s',
      { certificate: { ...serverCertificate(), key: other.key } },
      /server\.key: this is not the key of/,
    ],
    [
      'a certificate that has expired',
      { certificate: serverCertificate(new Date(Date.now() - 1000)) },
      /server\.pem: the certificate expired on/,
    ],
    ['a CA file without certificates', { authorities: 'nothing' }, /ca\.pem: there is no certificate in PEM/],
    [
      'an end entity for a CA',
      { authorities: readFileSync(authority.issue('no-ca').certificate, 'latin1') },
      /is no certificate authority/,
    ],
    ['no CRL in the file', { list: 'nothing' }, /ca\.crl: there is no CRL in PEM or DER/],
    ['a CRL that is cut', { list: authority.revocationList().replace(/\n.{64}\n/, '\n') }, /ca\.crl: the CRL cannot be used/],
    ['a CRL of another CA', { list: other.revocationList() }, /the CRL is of none of the clients' certificate authorities/],
    [
      'a CRL that somebody else signed',
      { list: authority.revocationList({ signer: impostor }) },
      /the CRL's signature is not that of the CA/,
    ],
    ['an expired CRL', { list: authority.revocationList(past) }, /the CRL of CN=clients expired on/],
    ['a CRL of the future', { list: authority.revocationList(future) }, /the CRL of CN=clients is not valid before/],
    ['an older CRL', { list: older }, /the CRL of CN=clients is of .* there is one of .* in force/],
    [
      'a CA without its CRL',
      { authorities: readFileSync(authority.certificate, 'latin1') + readFileSync(other.certificate, 'latin1') },
      /there is no CRL of CN=somebody/,
    ],
  ])('with %s keeps all that was in force', async (_name, bad, reason) => {
    const listener = await listen();
    const client = authority.issue('client');
    const before = await open(listener, client);
    // A good file beside a bad one is not taken either.
    if (bad.certificate === undefined) listener.write({ certificate: serverCertificate() });
    listener.write(bad);
    expect(() => listener.tls.prepare(listener.config)).toThrow(reason);
    const after = await open(listener, client);
    expect(after.serverFingerprint).toBe(before.serverFingerprint);
    expect([await before.send(), await after.send()]).toEqual([served, served]);
  });

  it('adds CRLs, in DER and several in a file, and reports when they expire', async () => {
    const second = newAuthority('second');
    const listener = await listen({
      authorities: readFileSync(authority.certificate, 'latin1') + readFileSync(second.certificate, 'latin1'),
    });
    expect(listener.log.lines).toContainEqual(expect.stringContaining('client certificates are not checked for revocation'));
    expect(listener.tls.revocationListEndsMs).toBeUndefined();
    const until = new Date(Math.floor(Date.now() / 1000) * 1000 + hourMs / 2);
    listener.write({ list: authority.revocationList() + second.revocationList({ until }) });
    const clientRevocationLists = [listener.config.clientCertificateAuthority.replace('ca.pem', 'ca.crl')];
    listener.tls.prepare({ ...listener.config, clientRevocationLists })();
    expect(listener.tls.revocationListEndsMs).toBe(until.getTime());
  });
});
