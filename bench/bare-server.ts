/**
 * The minimum that Node does for a request over HTTPS with a client certificate: it reads the body
 * and answers with a fixed one. At `/files` it discards the body and sends as many bytes as
 * `Content-Length-Wanted` says. A separate process, which writes its port to standard output and
 * ends when standard input ends.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    cert: { type: 'string', default: '' },
    key: { type: 'string', default: '' },
    ca: { type: 'string', default: '' },
    'answer-bytes': { type: 'string', default: '1024' },
  },
});

const frame = { result: { resultMajor: 0 }, filler: '' };
const fillerBytes = Math.max(0, Number(values['answer-bytes']) - JSON.stringify(frame).length);
const answer = Buffer.from(JSON.stringify({ ...frame, filler: 'A'.repeat(fillerBytes) }));
const headers = { 'Content-Type': 'application/json', 'Content-Length': answer.length };

const piece = Buffer.alloc(128 * 1024);

async function files(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'POST') {
    for await (const chunk of request) void chunk;
    response.writeHead(201, headers).end(answer);
    return;
  }
  const bytes = Number(request.headers['content-length-wanted'] ?? 0);
  response.writeHead(200, { 'Content-Length': bytes });
  for (let sent = 0; sent < bytes; sent += piece.length) {
    if (!response.write(piece.subarray(0, bytes - sent))) await once(response, 'drain');
  }
  response.end();
}

const server = createServer(
  {
    cert: readFileSync(values.cert),
    key: readFileSync(values.key),
    ca: readFileSync(values.ca),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
  },
  (request, response) => {
    if (request.url === '/files') {
      void files(request, response);
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      JSON.parse(Buffer.concat(chunks).toString('utf8'));
      response.writeHead(200, headers).end(answer);
    });
  },
);

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(address.port);
});

process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
