/**
 * The least that Node does for a request over HTTPS with a client certificate: reads the body, answers a fixed one. Its own process.
 * Writes its port to standard output, and ends when standard input does.
 */
import { readFileSync } from 'node:fs';
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
