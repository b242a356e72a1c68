import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentFor, description, directory, send } from '../../support/api.ts';
import { file, idOf, upload } from '../../support/files.ts';
import { RawConnection, type Peer } from '../../support/raw-connection.ts';

const onDisk = (): string[] => readdirSync(join(directory, 'files'));
const peer: Peer = {
  baseUrl: description.baseUrl,
  caCertificate: description.caCertificate,
  certificate: description.clientCertificate,
  key: description.clientKey,
};

describe('the file transfer store', () => {
  it('stores a file with its type and name, returns it, and deletes it once', async () => {
    const content = Buffer.from('Contrat n° 1\0\xff', 'latin1');
    const stored = await upload('app', content, { 'Content-Type': 'text/plain; charset=latin1', 'X-File-Name': 'caf%C3%A9%20(1).txt' });
    const fileID = idOf(stored);
    expect([stored.status, stored.body]).toEqual([201, { fileID, fileSize: content.length }]);
    expect(fileID).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(stored.headers['location']).toBe(`/ftm/files/${fileID}`);

    const got = await file('app', 'GET', fileID);
    expect(got.status).toBe(200);
    expect(got.headers).toMatchObject({
      'content-type': 'text/plain; charset=latin1',
      'content-length': String(content.length),
      'content-disposition': "attachment; filename*=UTF-8''caf%C3%A9%20%281%29.txt",
      'x-file-name': 'caf%C3%A9%20%281%29.txt',
      'x-content-type-options': 'nosniff',
      'x-api-version': '1.0.0',
    });
    const head = await file('app', 'HEAD', fileID);
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', String(content.length)]);
    const removed = await file('app', 'DELETE', fileID);
    expect([removed.status, removed.text, removed.headers['content-type']]).toEqual([204, '', undefined]);
    for (const method of ['DELETE', 'GET', 'HEAD']) expect((await file('app', method, fileID)).status, method).toBe(404);
    expect(onDisk()).not.toContain(fileID);
  });

  it('returns every byte of a large file, sent with its length or in chunks, and an empty file', async () => {
    const content = Buffer.alloc(5_000_001, 'signetd');
    for (const [bytes, headers] of [
      [content, {}],
      [content, { 'Transfer-Encoding': 'chunked' }],
      [Buffer.alloc(0), {}],
    ] as const) {
      const stored = await upload('app', bytes, headers);
      expect(stored.body).toMatchObject({ fileSize: bytes.length });
      const got = await new Promise<Buffer>((resolve, reject) => {
        request(`${description.baseUrl}/ftm/files/${idOf(stored)}`, { agent: agentFor('app') }, (response) => {
          const chunks: Buffer[] = [];
          response
            .on('data', (chunk: Buffer) => chunks.push(chunk))
            .on('end', () => {
              resolve(Buffer.concat(chunks));
            });
        })
          .on('error', reject)
          .end();
      });
      expect(got.equals(bytes)).toBe(true);
      await file('app', 'DELETE', idOf(stored));
    }
  });

  it('uses a default type if none was given', async () => {
    const stored = await send('app', { path: '/ftm/files' }, 'x');
    expect((await file('app', 'GET', idOf(stored))).headers['content-type']).toBe('application/octet-stream');
  });

  it('does not show files to another tenant, nor to a client without the role', async () => {
    const fileID = idOf(await upload('app', 'x'));
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      expect((await file('other', method, fileID)).status, method).toBe(404);
      expect((await file('signer', method, fileID)).status, method).toBe(403);
      expect((await file('unregistered', method, fileID)).status, method).toBe(403);
    }
    expect((await upload('signer', 'x')).status).toBe(403);
    expect((await file('app', 'GET', fileID)).text).toBe('x');
  });

  it.each([
    ['PUT', '/ftm/files', 405, 'POST'],
    ['GET', '/ftm/files', 405, 'POST'],
    ['POST', `/ftm/files/${'a'.repeat(43)}`, 405, 'GET, HEAD, DELETE'],
    ['GET', '/ftm/files/', 404, undefined],
    ['GET', '/ftm/files/x', 404, undefined],
    ['GET', '/ftm/files/..%2Fstate.sqlite', 404, undefined],
    ['GET', '/ftm/files/%ff', 400, undefined],
    ['GET', '/ftm', 404, undefined],
  ])('answers %s %s with %i', async (method, path, status, allow) => {
    const answer = await send('app', { path, method });
    expect([answer.status, answer.headers['allow'], answer.headers['content-type']]).toEqual([status, allow, 'application/problem+json']);
  });

  it.each([
    ['a Content-Encoding', { 'Content-Encoding': 'gzip' }, 415],
    ['no media type', { 'Content-Type': 'text' }, 415],
    ['a name that is a path', { 'X-File-Name': '..%2Fx' }, 400],
    ['a name that is no UTF-8', { 'X-File-Name': '%ff' }, 400],
    ['a name with a line break', { 'X-File-Name': 'a%0Ab' }, 400],
    ['a name that is too long', { 'X-File-Name': 'x'.repeat(256) }, 400],
    ['an empty name', { 'X-File-Name': '' }, 400],
    ['a size beyond the limit', { 'Content-Length': String(3 * 1024 ** 3) }, 413],
  ])('refuses an upload with %s', async (_what, headers, status) => {
    const before = onDisk();
    const connection = await RawConnection.open(peer);
    const lines = Object.entries({ Host: 'x', 'Content-Length': '1', ...headers }).map(([name, value]) => `${name}: ${value}`);
    connection.write(`POST /ftm/files HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\nx`);
    await connection.until(`HTTP/1.1 ${status}`);
    expect(connection.statuses).toEqual([status]);
    connection.close();
    expect(onDisk()).toEqual(before);
  });

  it('keeps nothing of an upload that breaks off', async () => {
    const before = onDisk();
    const connection = await RawConnection.open(peer);
    connection.write('POST /ftm/files HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nhalf');
    await expect.poll(() => onDisk().length).toBe(before.length + 1);
    connection.close();
    await expect.poll(onDisk).toEqual(before);
  });

  it('answers 100-continue to a client that waits for it', async () => {
    const connection = await RawConnection.open(peer);
    connection.write('POST /ftm/files HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n');
    await connection.until('100 Continue');
    connection.write('x');
    await connection.until('HTTP/1.1 201');
    connection.close();
  });

  it('is in the audit log with its digest, without its name', async () => {
    const stored = await upload('app', 'audited content', { 'X-File-Name': 'secret-name.txt' });
    const log = readdirSync(join(directory, 'audit'))
      .map((name) => readFileSync(join(directory, 'audit', name), 'utf8'))
      .join('');
    const line = log.split('\n').find((one) => one.includes('"files/upload"') && one.includes(String(stored.headers['x-request-id'])));
    expect(line).toContain('"sha256:');
    expect(line).toContain('"tenant":"demo"');
    expect(log).not.toContain('secret-name');
  });

  it('is measured', async () => {
    const metrics = await (await fetch(`${description.opsUrl}/metrics`)).text();
    for (const name of [
      'signetd_transfer_bytes_total{direction="in"}',
      'signetd_transfer_files{tenant="demo"}',
      'signetd_transfer_stored_bytes{tenant="demo"}',
    ]) {
      expect(metrics).toContain(name);
    }
    expect(metrics).toMatch(/signetd_requests_total\{operation="files\/upload",outcome="0\/0"\} [1-9]/);
  });
});
