import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';

/** Fields that say where a request ends and whose it is. Two of one mean two different requests to two readers. */
const once = new Set(['host', 'content-length', 'transfer-encoding', 'expect', 'connection', 'upgrade']);

/**
 * Refuses what Node's parser lets through and what another reader of the same bytes may understand otherwise (RFC 9112 §11.2, request smuggling): another
 * version, another form of the target, fields given twice, codings of the transfer beside `chunked`, no host or two. @throws {Problem} 400, 417
 */
export function checkShape(request: IncomingMessage): void {
  if (request.httpVersion !== '1.1') throw bad('requests are made in HTTP/1.1');
  if (request.url?.startsWith('/') !== true) throw bad('the target of a request is a path');
  checkFields(request);
  const { host, 'transfer-encoding': coding, expect } = request.headers;
  if (host === undefined) throw bad('the header Host is needed');
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') throw bad('the only Transfer-Encoding taken is chunked');
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw new Problem(417, 'the only expectation met is 100-continue', { headers: { Connection: 'close' } });
  }
}

function checkFields({ rawHeaders }: IncomingMessage): void {
  let seen = '';
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    if (!once.has(name)) continue;
    if (seen.includes(` ${name} `)) throw bad(`the header ${name} is there twice`);
    seen += ` ${name} `;
  }
}

/** Who sends such things sends the next request after it as well: it is not read. */
function bad(detail: string): Problem {
  return new Problem(400, detail, { headers: { Connection: 'close' } });
}
