import type { IncomingMessage, ServerResponse } from 'node:http';
import { maxOcspRequestBytes } from '../certificates/ocsp/ocsp-request.ts';
import { errorResponse } from '../certificates/ocsp/ocsp-response.ts';
import type { OcspAnswer } from '../certificates/ocsp/ocsp-responder.ts';
import { isUnchanged } from './conditional-request.ts';
import { requestInPath } from './ocsp-path.ts';
import { Problem, sendProblem } from './problem.ts';
import type { PublicHandler } from './published-pki.ts';

/** Who answers OCSP requests. */
interface Responder {
  answer(request: Uint8Array): OcspAnswer | Promise<OcspAnswer>;
}

const path = /^\/ocsp\/([a-z0-9][a-z0-9-]{0,63})(\/.*)?$/s;
const requestType = 'application/ocsp-request';
const malformed: OcspAnswer = { der: errorResponse('malformedRequest'), outcome: 'malformedRequest' };

/** `/ocsp/{ca}` by GET and POST (RFC 6960 appendix A). `answered` is told how each request ended. */
export function ocsp(find: (authority: string) => Responder | undefined, answered: (answer: OcspAnswer) => void): PublicHandler {
  return (request, response) => {
    const [target = ''] = (request.url ?? '').split('?', 1);
    const [, name = '', rest = ''] = path.exec(target) ?? [];
    const responder = name === '' ? undefined : find(name);
    if (responder === undefined) return false;
    const send = (answer: OcspAnswer): void => {
      answered(answer);
      sendAnswer(request, response, answer);
    };
    if (request.method === 'POST') {
      void readBody(request).then(
        async (body) => {
          if (body instanceof Problem) sendProblem(response, body);
          else send(await responder.answer(body));
        },
        () => request.destroy(),
      );
      return true;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      sendProblem(
        response,
        new Problem(405, 'this is asked with GET or POST', { headers: { Allow: 'GET, HEAD, POST', Connection: 'close' } }),
      );
      return true;
    }
    const asked = requestInPath(rest);
    const answer = asked === undefined ? malformed : responder.answer(asked);
    if (answer instanceof Promise) void answer.then(send);
    else send(answer);
    return true;
  };
}

/** The body, or what is wrong with it at the level of HTTP. Rejects where the client goes away. */
async function readBody(request: IncomingMessage): Promise<Uint8Array | Problem> {
  const { headers } = request;
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';');
  // What is not read to its end ends the connection.
  const close = { Connection: 'close' };
  if (mediaType.trim().toLowerCase() !== requestType) return new Problem(415, `the body is ${requestType}`, { headers: close });
  if (headers['content-encoding'] !== undefined) return new Problem(415, 'no content encoding is taken', { headers: close });
  const tooLarge = new Problem(413, `a request has at most ${maxOcspRequestBytes} octets`, { headers: close });
  if (Number(headers['content-length'] ?? 0) > maxOcspRequestBytes) return tooLarge;
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    request.on('data', (piece: Buffer) => {
      length += piece.length;
      pieces.push(piece);
      if (length <= maxOcspRequestBytes) return;
      request.removeAllListeners('data').pause();
      resolve(tooLarge);
    });
    request.on('end', () => {
      resolve(Buffer.concat(pieces, length));
    });
    request.on('error', reject);
  });
}

/** RFC 5019 §6.2: what caches need, for an answer to GET that others may have as well. */
function sendAnswer(request: IncomingMessage, response: ServerResponse, { der, cacheable }: OcspAnswer): void {
  const body = ['Content-Type', 'application/ocsp-response', 'Content-Length', String(der.length), 'X-Content-Type-Options', 'nosniff'];
  const end = request.method === 'HEAD' ? undefined : der;
  if (cacheable === undefined || request.method === 'POST') {
    response.writeHead(200, [...body, 'Cache-Control', 'no-store', ...closing(request)]).end(end);
    return;
  }
  const { thisUpdate, nextUpdate, digest, maxAgeSeconds } = cacheable;
  const now = Date.now();
  const remainingSeconds = Math.max(0, Math.floor((nextUpdate.getTime() - now) / 1000));
  const maxAge = Math.min(maxAgeSeconds, remainingSeconds);
  const etag = `"${digest}"`;
  const caching = [
    ...['ETag', etag, 'Last-Modified', thisUpdate.toUTCString(), 'Expires', new Date(now + maxAge * 1000).toUTCString()],
    ...['Cache-Control', `public, max-age=${maxAge}, no-transform, must-revalidate`, ...closing(request)],
  ];
  if (isUnchanged(request, etag, thisUpdate)) response.writeHead(304, caching).end();
  else response.writeHead(200, [...body, ...caching]).end(end);
}

/** A body that comes with a GET is not read, so the connection cannot go on. */
function closing({ method, headers }: IncomingMessage): string[] {
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  return method !== 'POST' && hasBody ? ['Connection', 'close'] : [];
}
