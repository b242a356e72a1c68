import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';

/**
 * Fields that say where a request ends and whom it is for. Given twice, they mean different
 * requests to different readers.
 */
const once = new Set(['host', 'content-length', 'transfer-encoding', 'expect', 'connection', 'upgrade']);

/**
 * Refuses what Node's parser lets through but another reader of the same bytes may understand
 * differently (RFC 9112 §11.2, request smuggling): another version, another form of the target,
 * duplicate fields, transfer codings other than `chunked`, no host or two.
 * @throws {Problem} 400, 417
 */
export function checkShape(request: IncomingMessage): void {
  if (request.httpVersion !== '1.1') throw bad('only HTTP/1.1 is supported');
  if (request.url?.startsWith('/') !== true) throw bad('the request target must be a path');
  checkFields(request);
  const { host, 'transfer-encoding': coding, expect } = request.headers;
  if (host === undefined) throw bad('the Host header is required');
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') throw bad('the only supported Transfer-Encoding is chunked');
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw new Problem(417, 'the only supported expectation is 100-continue', { headers: { Connection: 'close' } });
  }
}

function checkFields({ rawHeaders }: IncomingMessage): void {
  let seen = '';
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    if (!once.has(name)) continue;
    if (seen.includes(` ${name} `)) throw bad(`duplicate header: ${name}`);
    seen += ` ${name} `;
  }
}

/** The connection ends: what follows on it may be part of an attack, and is not read. */
function bad(detail: string): Problem {
  return new Problem(400, detail, { headers: { Connection: 'close' } });
}
