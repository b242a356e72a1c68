import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { EarlyAnswers } from '../../../src/http/api/early-answer.ts';
import { Problem, sendProblem } from '../../../src/http/problem.ts';

const mebibyte = 1024 * 1024;

/** What a client reads until its connection ends that sends the bytes and keeps the connection open. */
async function answersTo(listener: RequestListener, bytes: string): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(bytes);
    return await text(socket);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it('an early answer does not end the connection before the answers to earlier requests', async () => {
  const early = new EarlyAnswers();
  const refuse: RequestListener = (request, response) => {
    const problem = new Problem(403, 'refused');
    sendProblem(response, new Problem(403, 'refused', { headers: { ...early.headers(request, response, problem) } }));
  };
  const listener: RequestListener = (request, response) => {
    if (request.url !== '/slow') {
      refuse(request, response);
      return;
    }
    // Longer than the next request takes to come.
    setTimeout(() => response.end('slow'), 100);
  };
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
  const body = `${chunk.repeat(mebibyte / 65_536)}0\r\n\r\n`;
  const answers = await answersTo(
    listener,
    `GET /slow HTTP/1.1\r\nHost: x\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
  );
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 403']);
});

it.each(['Content-Length: 1000000000', 'Transfer-Encoding: chunked'])(
  'of a body that nobody wants little is read (%s)',
  async (framing) => {
    const early = new EarlyAnswers();
    let read = 0;
    const listener: RequestListener = (request, response) => {
      early.discard(request, response);
      response.end('done');
      request.socket.once('close', () => {
        read = request.socket.bytesRead;
      });
    };
    const piece = framing.startsWith('T') ? `100000\r\n${'x'.repeat(mebibyte)}\r\n` : 'x'.repeat(mebibyte);
    await answersTo(listener, `GET / HTTP/1.1\r\nHost: x\r\n${framing}\r\n\r\n${piece.repeat(64)}`);
    await expect.poll(() => read).toBeGreaterThan(0);
    expect(read).toBeLessThan(40 * mebibyte);
  },
);
