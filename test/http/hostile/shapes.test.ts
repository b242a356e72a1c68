import { describe, expect, it } from 'vitest';
import { description, pathOf } from '../../support/api.ts';
import { RawConnection, type Peer } from '../../support/raw-connection.ts';

const app = description.clients['app'] ?? { certificate: '', key: '' };
const peer: Peer = { baseUrl: description.baseUrl, caCertificate: description.caCertificate, ...app };
const path = pathOf('pki/checkKey');
const type = 'Content-Type: application/json';
const smuggled = `POST ${path} HTTP/1.1\r\nHost: smuggled\r\n\r\n`;
const lines = (...all: string[]): string => `${all.join('\r\n')}\r\n\r\n`;
const start = `POST ${path} HTTP/1.1`;
const host = 'Host: localhost';

/** What comes back for bytes, until the service closes the connection. */
async function answersTo(bytes: string | Buffer): Promise<RawConnection> {
  const connection = await RawConnection.open(peer);
  connection.write(bytes);
  await connection.closed();
  return connection;
}

describe('a request that two parsers may read differently gets one 400, and the connection ends', () => {
  it.each([
    [
      'Content-Length and Transfer-Encoding',
      lines(start, host, type, 'Content-Length: 4', 'Transfer-Encoding: chunked') + `0\r\n\r\n${smuggled}`,
    ],
    [
      'Transfer-Encoding and Content-Length',
      lines(start, host, type, 'Transfer-Encoding: chunked', 'Content-Length: 4') + `0\r\n\r\n${smuggled}`,
    ],
    ['two Content-Length', lines(start, host, type, 'Content-Length: 2', 'Content-Length: 40') + `{}${smuggled}`],
    ['two equal Content-Length', lines(start, host, type, 'Content-Length: 2', 'Content-Length: 2') + `{}${smuggled}`],
    ['a list in Content-Length', `${lines(start, host, type, 'Content-Length: 2, 2')}{}`],
    ['a sign in Content-Length', `${lines(start, host, type, 'Content-Length: +2')}{}`],
    ['a minus in Content-Length', `${lines(start, host, type, 'Content-Length: -2')}{}`],
    ['hexadecimal Content-Length', `${lines(start, host, type, 'Content-Length: 0x2')}{}`],
    ['a space in Content-Length', `${lines(start, host, type, 'Content-Length: 2 2')}{}`],
    ['an enormous Content-Length', `${lines(start, host, type, 'Content-Length: 99999999999999999999999')}{}`],
    ['an empty Content-Length', `${lines(start, host, type, 'Content-Length:')}{}`],
    ['a space before the colon', `${lines(start, host, type, 'Content-Length : 2')}{}`],
    ['a tab before the colon', `${lines(start, host, type, 'Transfer-Encoding\t: chunked')}0\r\n\r\n`],
    ['a space before the name', `${lines(start, host, type, ' Transfer-Encoding: chunked')}0\r\n\r\n`],
    ['a folded header', `${lines(start, host, type, 'Transfer-Encoding:', ' chunked')}0\r\n\r\n`],
    ['a folded header at the start', `${lines(start, ' X: y', host, type)}{}`],
    ['Transfer-Encoding xchunked', `${lines(start, host, type, 'Transfer-Encoding: xchunked')}0\r\n\r\n`],
    ['Transfer-Encoding in quotes', `${lines(start, host, type, 'Transfer-Encoding: "chunked"')}0\r\n\r\n`],
    ['Transfer-Encoding identity', `${lines(start, host, type, 'Transfer-Encoding: identity')}0\r\n\r\n`],
    ['Transfer-Encoding gzip, chunked', `${lines(start, host, type, 'Transfer-Encoding: gzip, chunked')}0\r\n\r\n`],
    ['Transfer-Encoding chunked, identity', `${lines(start, host, type, 'Transfer-Encoding: chunked, identity')}0\r\n\r\n`],
    ['chunked twice in one header', `${lines(start, host, type, 'Transfer-Encoding: chunked, chunked')}0\r\n\r\n`],
    ['two Transfer-Encoding', `${lines(start, host, type, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')}0\r\n\r\n`],
    ['two Transfer-Encoding, one hidden', `${lines(start, host, type, 'Transfer-Encoding: chunked', 'Transfer-encoding: cow')}0\r\n\r\n`],
    ['a vertical tab in Transfer-Encoding', `${lines(start, host, type, 'Transfer-Encoding: \u000bchunked')}0\r\n\r\n`],
    ['a NUL in a header', `${lines(start, host, type, 'X: a\u0000b')}{}`],
    ['a bare LF as line end', `${start}\n${host}\n${type}\nContent-Length: 2\n\n{}`],
    ['a bare LF between headers', `${start}\r\n${host}\n${type}\r\nContent-Length: 2\r\n\r\n{}`],
    ['a bare CR in a header', `${lines(start, host, type, 'X: a\rContent-Length: 2')}{}`],
    ['a bare LF after a chunk size', `${lines(start, host, type, 'Transfer-Encoding: chunked')}2\n{}\r\n0\r\n\r\n`],
    ['a bare LF after a chunk', `${lines(start, host, type, 'Transfer-Encoding: chunked')}2\r\n{}\n0\r\n\r\n`],
    ['a chunk size with 0x', `${lines(start, host, type, 'Transfer-Encoding: chunked')}0x2\r\n{}\r\n0\r\n\r\n`],
    ['a chunk size with a sign', `${lines(start, host, type, 'Transfer-Encoding: chunked')}+2\r\n{}\r\n0\r\n\r\n`],
    ['a chunk size with a space before it', `${lines(start, host, type, 'Transfer-Encoding: chunked')} 2\r\n{}\r\n0\r\n\r\n`],
    ['a negative chunk size', `${lines(start, host, type, 'Transfer-Encoding: chunked')}-2\r\n{}\r\n0\r\n\r\n`],
    ['an empty chunk size', `${lines(start, host, type, 'Transfer-Encoding: chunked')}\r\n{}\r\n0\r\n\r\n`],
    ['a chunk size beyond 64 bits', `${lines(start, host, type, 'Transfer-Encoding: chunked')}fffffffffffffffff\r\n{}\r\n0\r\n\r\n`],
    ['a chunk longer than its size', `${lines(start, host, type, 'Transfer-Encoding: chunked')}1\r\n{}\r\n0\r\n\r\n`],
    ['a chunk extension with a bare LF', `${lines(start, host, type, 'Transfer-Encoding: chunked')}2;a\nb\r\n{}\r\n0\r\n\r\n`],
    ['two hosts', `${lines(start, host, 'Host: other', type, 'Content-Length: 2')}{}`],
    ['no host', `${lines(start, type, 'Content-Length: 2')}{}`],
    ['two Content-Type', `${lines(start, host, type, 'Content-Type: text/plain', 'Content-Length: 2')}{}`],
    ['two Connection', `${lines(start, host, type, 'Connection: keep-alive', 'Connection: close', 'Content-Length: 2')}{}`],
    ['the absolute form of a target', `${lines(`POST https://localhost${path} HTTP/1.1`, host, type, 'Content-Length: 2')}{}`],
    ['the asterisk form', lines('OPTIONS * HTTP/1.1', host)],
    ['a target without slash', `${lines('POST sign HTTP/1.1', host, type, 'Content-Length: 2')}{}`],
    ['a space in the target', `${lines(`POST ${path} x HTTP/1.1`, host, type, 'Content-Length: 2')}{}`],
    ['HTTP/1.0', `${lines(`POST ${path} HTTP/1.0`, host, type, 'Content-Length: 2')}{}`],
    ['HTTP/1.0 with chunks', `${lines(`POST ${path} HTTP/1.0`, host, type, 'Transfer-Encoding: chunked')}0\r\n\r\n`],
    ['HTTP/0.9', `POST ${path}\r\n\r\n`],
    ['HTTP/1.2', `${lines(`POST ${path} HTTP/1.2`, host, type, 'Content-Length: 2')}{}`],
    ['HTTP/2.0 on the same port', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['lower-case http', `${lines(`POST ${path} http/1.1`, host, type, 'Content-Length: 2')}{}`],
    ['an unknown method', lines(`SIGN ${path} HTTP/1.1`, host)],
    ['a method in lower case', lines(`post ${path} HTTP/1.1`, host)],
    ['no HTTP at all', '\u0016\u0003\u0001\u0002\u0000garbage\r\n\r\n'],
  ])('%s', async (_name, bytes) => {
    const { received, statuses } = await answersTo(Buffer.from(bytes, 'latin1'));
    // A version that is none of HTTP/1's has nothing that it could be answered with.
    if (_name === 'HTTP/2.0 on the same port' && received === '') return;
    expect([statuses, received]).toEqual([[400], expect.stringContaining('application/problem+json')]);
    expect(received).toMatch(/^x-api-version: 1\.0\.0\r$/im);
    expect(received).toMatch(/^connection: close\r$/im);
  });

  it('417 for an expectation that is not met', async () => {
    const { statuses } = await answersTo(lines(start, host, type, 'Expect: 200-ok', 'Content-Length: 2'));
    expect(statuses).toEqual([417]);
  });

  it('431 for a head beyond 16 KiB, and 413 for chunk extensions beyond it', async () => {
    expect((await answersTo(lines(start, host, `X: ${'x'.repeat(20_000)}`))).statuses).toEqual([431]);
    const extensions = `${lines(start, host, type, 'Transfer-Encoding: chunked')}2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`;
    expect((await answersTo(extensions)).statuses).toEqual([413]);
  });

  it('CONNECT ends the connection without an answer', async () => {
    expect((await answersTo(lines('CONNECT localhost:443 HTTP/1.1', host))).received).toBe('');
  });
});

describe('rare but valid requests', () => {
  const good = (body: string): string => `${lines(start, host, type, `Content-Length: ${body.length}`)}${body}`;

  it('pipelined requests are answered in order', async () => {
    const connection = await RawConnection.open(peer);
    connection.write(good('{') + good('{}') + lines(`GET ${path} HTTP/1.1`, host, 'Connection: close'));
    await connection.closed();
    expect(connection.statuses).toEqual([400, 200, 405]);
  });

  it('garbage after a good request does not touch its answer, and is answered after it', async () => {
    for (const garbage of ['\u0000\u0001garbage\r\n\r\n', 'POST', lines(start, host, 'Content-Length: 1', 'Transfer-Encoding: chunked')]) {
      const connection = await RawConnection.open(peer);
      connection.write(good('{"requestID":"first"}') + garbage);
      if (garbage === 'POST') connection.write('\r\n\r\n\r\n');
      await connection.closed();
      expect(connection.statuses).toEqual([200, 400]);
      expect(connection.received).toContain('"requestID":"first"');
    }
  });

  it('a body that breaks off in its chunks gets one answer', async () => {
    const connection = await answersTo(`${lines(start, host, type, 'Transfer-Encoding: chunked')}2\r\n{}\r\nzz\r\n${smuggled}`);
    expect(connection.statuses).toEqual([400]);
    expect(connection.received).not.toContain('smuggled');
  });

  it('an unexpected Upgrade is ignored', async () => {
    const connection = await RawConnection.open(peer);
    connection.write(`${lines(start, host, type, 'Connection: Upgrade, close', 'Upgrade: h2c', 'Content-Length: 2')}{}`);
    await connection.closed();
    expect(connection.statuses).toEqual([200]);
  });

  it('100 Continue comes when the body is wanted, and not before a refusal', async () => {
    const wanted = await RawConnection.open(peer);
    wanted.write(lines(start, host, type, 'Expect: 100-continue', 'Content-Length: 2', 'Connection: close'));
    await wanted.until('100 Continue');
    wanted.write('{}');
    await wanted.closed();
    expect(wanted.statuses).toEqual([100, 200]);
    const refused = await RawConnection.open(peer);
    refused.write(lines(start, host, 'Content-Type: text/plain', 'Expect: 100-continue', 'Content-Length: 2'));
    await refused.until('"status"');
    expect(refused.statuses).toEqual([415]);
    refused.close();
  });

  it('chunks with extensions and trailers are read, and trailers are not taken for headers', async () => {
    const connection = await RawConnection.open(peer);
    const chunked = lines(start, host, type, 'Transfer-Encoding: Chunked', 'Connection: close');
    connection.write(`${chunked}1;a=b\r\n{\r\n1\r\n}\r\n0\r\nIdempotency-Key: short\r\nContent-Encoding: gzip\r\n\r\n`);
    await connection.closed();
    expect(connection.statuses).toEqual([200]);
  });
});
