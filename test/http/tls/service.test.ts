import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Description } from '../../../src/quickstart/description.ts';
import { quickstartEnvironment } from '../../support/quickstart-environment.ts';
import { ScratchAuthority } from '../../support/scratch-authority.ts';
import { OpenConnection } from './open-connection.ts';
import { as, sClient } from './scratch-listener.ts';

const patience = { timeout: 30_000 };
const environment = quickstartEnvironment();
const inTls = (name: string): string => join(environment.directory, 'tls', name);
let description: Description;
let authority: ScratchAuthority;

beforeAll(() => {
  environment.prepare();
  environment.start();
  description = environment.description();
  authority = new ScratchAuthority(environment.directory, 'revoking', { existing: { certificate: inTls('ca.pem'), key: inTls('ca.key') } });
});
afterAll(() => {
  environment.remove();
});

const filesOf = (client: string): { certificate: string; key: string } => ({
  certificate: inTls(`${client}.pem`),
  key: inTls(`${client}.key`),
});
const port = (): number => Number(new URL(description.baseUrl).port);
const open = async (client: string): Promise<OpenConnection> => OpenConnection.open(port(), filesOf(client), { ca: inTls('ca.pem') });
const log = (): string => readFileSync(join(environment.directory, 'daemon.log'), 'utf8');
const metrics = async (): Promise<string> => (await fetch(`${description.opsUrl}/metrics`)).text();

/** Sends SIGHUP, and waits until the log has one line more of what came of it. */
async function reload(outcome: string): Promise<void> {
  const before = log().split(outcome).length;
  process.kill(Number(readFileSync(join(environment.directory, 'daemon.pid'), 'utf8')), 'SIGHUP');
  await expect.poll(() => log().split(outcome).length, patience).toBe(before + 1);
}

describe('the running service', () => {
  it('closes the connection of a client that is revoked at SIGHUP, and keeps the others', async () => {
    const [revoked, kept] = [await open('other'), await open('app')];
    const notFound = expect.stringContaining('HTTP/1.1 404') as string;
    expect([await revoked.send(), await kept.send()]).toEqual([notFound, notFound]);
    authority.revoke(filesOf('other'));
    writeFileSync(inTls('ca.crl'), authority.revocationList({ from: new Date() }));
    await reload('the TLS files of the API are in force');
    expect([await revoked.send(), await kept.send()]).toEqual(['', notFound]);
    expect(await sClient(port(), as(filesOf('other')))).not.toContain('HTTP/1.1');
    expect(log()).toContain('is revoked (CERT_REVOKED)');
    expect(await metrics()).toMatch(/^signetd_clients_refused_total\{reason="CERT_REVOKED"\} 2$/m);
    kept.close();
  });

  it('keeps its configuration if a file is faulty, and reports why', async () => {
    const good = readFileSync(inTls('ca.crl'));
    writeFileSync(inTls('ca.crl'), good.subarray(0, 200));
    await reload('configuration not reloaded; the previous one stays in effect');
    expect(log()).toContain('ca.crl: there is no CRL in PEM or DER');
    const connection = await open('app');
    expect(await connection.send()).toContain('HTTP/1.1 404');
    connection.close();
    writeFileSync(inTls('ca.crl'), good);
  });

  it('says when its certificate and the CRL expire, and is not ready once one has', async () => {
    const text = await metrics();
    expect(Number(/^signetd_api_certificate_expiry_seconds (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(800 * 24 * 3600);
    expect(Number(/^signetd_client_crl_expiry_seconds (\d+)$/m.exec(text)?.[1])).toBeLessThanOrEqual(3600);
    expect(text).toMatch(/^signetd_api_connections \d+$/m);
    const until = Math.ceil(Date.now() / 1000) * 1000 + 5000;
    writeFileSync(inTls('ca.crl'), authority.revocationList({ from: new Date(), until: new Date(until) }));
    await reload('the TLS files of the API are in force');
    const health = async (): Promise<unknown> => (await fetch(`${description.opsUrl}/health/ready`)).json();
    const faults = { clients: 'a CRL of the client CAs has expired: its clients are refused' };
    await expect.poll(health, patience).toMatchObject({ status: 'not ready', faults });
    writeFileSync(inTls('ca.crl'), authority.revocationList());
    await reload('not reloaded');
    expect(log()).toMatch(/the CRL of CN=signetd quickstart TLS CA is of .* in force/);
    writeFileSync(inTls('ca.crl'), authority.revocationList({ from: new Date() }));
    await reload('the TLS files of the API are in force');
    expect(await health()).toMatchObject({ status: 'ready' });
  });

  it('answers 404 on the public listener where it has nothing to serve', async () => {
    for (const [method, path] of [
      ['GET', '/'],
      ['POST', '/pki/none.crl'],
      ['POST', '/tsa/'],
      ['GET', '/health/live'],
    ] as const) {
      const response = await fetch(`${description.publicUrl}${path}`, { method });
      expect([response.status, response.headers.get('content-type'), response.headers.get('x-content-type-options')]).toEqual([
        404,
        'application/problem+json',
        'nosniff',
      ]);
    }
  });
});
