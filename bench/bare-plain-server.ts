/**
 * The minimum that Node does for a request over plain HTTP: it answers with a file, and headers
 * from a file. A separate process, which writes its port to standard output and ends when standard
 * input ends. Arguments: the file with the body, the one with the headers (JSON list of names and
 * values).
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [, , bodyFile = '', headersFile = ''] = process.argv;
const body = readFileSync(bodyFile);
const headers = JSON.parse(readFileSync(headersFile, 'utf8')) as string[];

const server = createServer((_request, response) => {
  response.writeHead(200, headers).end(body);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(address.port);
});

process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
