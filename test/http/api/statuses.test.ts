import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type SecureVersion } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, certificateRequest, codeOf, description, pathOf, send, textOf, type ClientName } from '../../support/api.ts';

const json = { 'Content-Type': 'application/json' };
const create = 'pki/createCertificate';

describe('HTTP statuses (contract §2)', () => {
  it.each([
    ['syntax error', '{"requestID":'],
    ['duplicate member', '{"requestID":"a","requestID":"b"}'],
    ['65 levels', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`],
    ['lossy number', '{"certificationRequestInfo":{"validityPeriod":9007199254740993}}'],
    ['bad UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['byte order mark', Buffer.from('\ufeff{}')],
    ['a list', '[]'],
    ['nothing', ''],
  ])('400 with the position for %s', async (_name, body) => {
    const answer = await call('app', create, body);
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    expect(answer.body).toEqual(
      expect.objectContaining({
        title: 'Bad Request',
        status: 400,
        detail: expect.any(String) as string,
        position: expect.any(Number) as number,
      }),
    );
  });

  it('403 for a client that is not registered, and for a role that does not cover the operation', async () => {
    expect((await call('unregistered', create, certificateRequest())).status).toBe(403);
    const answer = await call('signer', create, certificateRequest());
    expect(answer.status).toBe(403);
    expect(textOf(answer.body['detail'])).toContain('"keys"');
  });

  it.each(['/', '/nowhere', '/sign/pki', '/sign/pki/createcertificate', '/sign/pki/createCertificate/'])('404 at %s', async (path) => {
    expect((await send('app', { path, headers: json }, '{}')).status).toBe(404);
  });

  it.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'])('405 with Allow for %s', async (method) => {
    const answer = await send('app', { path: pathOf(create), method });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe('POST');
  });

  it('413 for a body beyond the limit, by its announced length and while it arrives', async () => {
    const announced = await send('app', { path: pathOf(create), headers: { ...json, 'Content-Length': String(65 * 1024 * 1024) } }).catch(
      (error: unknown) => error,
    );
    if ('status' in (announced as object)) expect(announced).toHaveProperty('status', 413);
    const grown = await send(
      'app',
      { path: pathOf(create), headers: { ...json, 'Transfer-Encoding': 'chunked' } },
      Buffer.alloc(65 * 1024 * 1024, 0x20),
    );
    expect(grown.status).toBe(413);
  });

  it.each<[string, OutgoingHttpHeaders]>([
    ['no media type', {}],
    ['text', { 'Content-Type': 'text/plain' }],
    ['gzip', { ...json, 'Content-Encoding': 'gzip' }],
    ['identity', { ...json, 'Content-Encoding': 'identity' }],
    ...['utf-16', 'UTF-16LE', 'iso-8859-1', '"utf-16"', 'us-ascii', '""', '" utf-8"'].map((charset): [string, OutgoingHttpHeaders] => [
      `charset=${charset}`,
      { 'Content-Type': `application/json; charset=${charset}` },
    ]),
    ['a second charset', { 'Content-Type': 'application/json; charset=utf-8; Charset=utf-16' }],
    ['a charset behind another parameter', { 'Content-Type': 'application/json; a="b;c\\"d" ;charset=utf-32' }],
    ['a parameter without value', { 'Content-Type': 'application/json; charset' }],
    ['a parameter that does not end', { 'Content-Type': 'application/json; a="b' }],
    ['another type that begins alike', { 'Content-Type': 'application/json-seq' }],
  ])('415 for %s', async (_name, headers) => {
    expect((await send('app', { path: pathOf(create), headers }, '{}')).status).toBe(415);
  });

  it.each([
    'Application/JSON; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; charset=utf8;',
    'application/json ; odata.metadata=minimal',
    'application/json; a="b;charset=utf-16"',
  ])('takes %s', async (contentType) => {
    expect(codeOf(await send('app', { path: pathOf(create), headers: { 'Content-Type': contentType } }, '{}'))).toBe('1/101');
  });

  it('has X-API-Version in every answer, and no hint at the software', async () => {
    for (const answer of [
      await call('app', create, '{}'),
      await call('app', create, '{'),
      await send('app', { path: '/nowhere' }),
      await call('unregistered', create, '{}'),
    ]) {
      expect(answer.headers['x-api-version']).toBe('1.0.0');
      expect(answer.headers['x-powered-by']).toBeUndefined();
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
    }
  });

  it('has X-API-Version in every answer of the other listeners, too', async () => {
    const { publicUrl, opsUrl } = description;
    const paths = [
      ...['/health/live', '/health/ready', '/metrics', '/nowhere'].map((path) => `${opsUrl}${path}`),
      ...['/pki/issuing.crl', '/pki/issuing.cer', '/ocsp/issuing', '/tsa', '/nowhere'].map((path) => `${publicUrl}${path}`),
    ];
    for (const url of paths) {
      for (const method of ['GET', 'POST']) {
        const answer = await fetch(url, { method });
        expect([url, method, answer.headers.get('x-api-version')]).toEqual([url, method, '1.0.0']);
        await answer.arrayBuffer();
      }
    }
  });

  it('serves health and metrics for GET only', async () => {
    for (const path of ['/health/live', '/health/ready', '/metrics']) {
      const answer = await fetch(`${description.opsUrl}${path}`, { method: 'POST' });
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
    }
  });

  it('checks in the order of the contract', async () => {
    const bad = { 'Content-Type': 'text/plain', 'Idempotency-Key': 'short' };
    expect((await send('unregistered', { path: '/nowhere', headers: bad }, '{')).status).toBe(404);
    expect((await send('unregistered', { path: pathOf(create), headers: bad }, '{')).status).toBe(403);
    expect((await send('app', { path: pathOf(create), headers: bad }, '{')).status).toBe(415);
    const key = await send('app', { path: pathOf(create), headers: { ...json, 'Idempotency-Key': 'short' } }, '{');
    expect([key.status, textOf(key.body['detail'])]).toEqual([400, expect.stringContaining('Idempotency-Key')]);
    const malformed = await send('app', { path: pathOf(create), headers: { ...json, 'Idempotency-Key': 'long-enough' } }, '{');
    expect([malformed.status, malformed.body['position']]).toEqual([400, 1]);
    expect(codeOf(await send('app', { path: pathOf(create), headers: { ...json, 'Idempotency-Key': 'long-enough' } }, '{}'))).toBe('1/101');
    const used = await send('app', { path: pathOf(create), headers: { ...json, 'Idempotency-Key': 'long-enough' } }, '{"requestID":"1"}');
    expect(used.status).toBe(422);
  });

  it('refuses a repeated header at its place among the checks, not earlier', async () => {
    const status = async (client: ClientName, path: string, more: Record<string, string | string[]>, method = 'POST'): Promise<number> =>
      (await send(client, { path, method, headers: { ...json, ...more } }, '{')).status;
    const keys = { 'Idempotency-Key': ['long-enough', 'long-enough'] };
    const types = { 'Content-Type': ['application/json', 'application/json'] };
    const codings = { 'Content-Encoding': ['identity', 'gzip'] };
    for (const twice of [keys, types, codings]) {
      expect(await status('app', '/nowhere', twice)).toBe(404);
      expect(await status('app', pathOf(create), twice, 'PUT')).toBe(405);
      expect(await status('unregistered', pathOf(create), twice)).toBe(403);
      expect(await status('signer', pathOf(create), twice)).toBe(403);
    }
    expect(await status('app', pathOf(create), { ...codings, ...types, ...keys })).toBe(415);
    expect(await status('app', pathOf(create), { 'Content-Type': 'text/plain', ...keys })).toBe(415);
    for (const twice of [types, keys]) expect(await status('app', pathOf(create), twice)).toBe(400);
    // Where nothing is kept, nobody looks at the key.
    expect(codeOf(await send('app', { path: pathOf('pki/checkKey'), headers: { ...json, ...keys } }, '{}'))).toBe('1/101');
  });
});

describe('mutual TLS', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'signetd-tls-'));
    const run = (script: string): void => {
      execFileSync('sh', ['-ec', script], { cwd: directory, stdio: 'ignore' });
    };
    run(
      'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=stranger -days 1 -keyout stranger.key -out stranger.pem',
    );
    run(`openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=old -keyout old.key -out old.csr
      openssl x509 -req -in old.csr -CA ${description.caCertificate} -CAkey ${description.caCertificate.replace(/pem$/, 'key')} -days 0 -out old.pem`);
  });
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  async function bytesFrom(files: { certificate: string; key: string } | undefined, version: SecureVersion): Promise<string> {
    const { hostname, port } = new URL(description.baseUrl);
    return new Promise((resolve) => {
      let received = '';
      const socket = connect({
        host: hostname,
        port: Number(port),
        ca: readFileSync(description.caCertificate),
        minVersion: version,
        maxVersion: version,
        ...(files === undefined ? {} : { cert: readFileSync(files.certificate), key: readFileSync(files.key) }),
      });
      socket.on('secureConnect', () => socket.write('GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'));
      socket.on('data', (chunk: Buffer) => {
        received += chunk.toString('latin1');
      });
      socket.on('error', () => undefined);
      socket.on('close', () => {
        resolve(received);
      });
    });
  }

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('serves a good client over %s', async (version) => {
    expect(await bytesFrom(description.clients['app'], version)).toMatch(/^HTTP\/1\.1 404/);
  });

  it('offers nothing below TLS 1.2', async () => {
    expect(await bytesFrom(description.clients['app'], 'TLSv1.1')).toBe('');
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'closes the connection before any HTTP answer for no, a foreign or an expired certificate over %s',
    async (version) => {
      expect(await bytesFrom(undefined, version)).toBe('');
      expect(await bytesFrom({ certificate: join(directory, 'stranger.pem'), key: join(directory, 'stranger.key') }, version)).toBe('');
      expect(await bytesFrom({ certificate: join(directory, 'old.pem'), key: join(directory, 'old.key') }, version)).toBe('');
      const log = readFileSync(join(description.configFile, '..', 'daemon.log'), 'utf8');
      for (const reason of ['no client certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'CERT_HAS_EXPIRED']) expect(log).toContain(reason);
    },
  );
});

describe('the operations listener', () => {
  it('says live and ready', async () => {
    expect(await (await fetch(`${description.opsUrl}/health/live`)).json()).toEqual({ status: 'live' });
    expect(await (await fetch(`${description.opsUrl}/health/ready`)).json()).toEqual({
      status: 'ready',
      pid: expect.any(Number) as number,
    });
    expect((await fetch(`${description.opsUrl}/nowhere`)).status).toBe(404);
  });
});
