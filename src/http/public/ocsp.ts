import type { IncomingMessage, ServerResponse } from 'node:http';
import { maxOcspRequestBytes } from '../../certificates/ocsp/ocsp-request.ts';
import type { OcspAnswer } from '../../certificates/ocsp/ocsp-responder.ts';
import { isUnchanged } from './conditional-request.ts';
import { requestInPath } from './ocsp-path.ts';
import { Problem, sendProblem } from '../problem.ts';
import type { PublicHandler } from './published-pki.ts';
import { apiVersion } from '../send.ts';
import { readShortBody } from '../body/short-body.ts';

/** The responder of an authority. */
interface Responder {
  answer(request: Uint8Array): OcspAnswer | Promise<OcspAnswer>;
  answerText(text: string, decode: (text: string) => Uint8Array | undefined): OcspAnswer | Promise<OcspAnswer>;
}

const path = /^\/ocsp\/([a-z0-9][a-z0-9-]{0,63})(\/.*)?$/s;
const requestBody = { mediaType: 'application/ocsp-request', maxBytes: maxOcspRequestBytes };

/**
 * `/ocsp/{ca}` by GET and POST (RFC 6960 appendix A). `answered` is told how each request ended.
 */
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
      void readShortBody(request, requestBody).then(
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
        new Problem(405, 'only GET, HEAD and POST are supported', { headers: { Allow: 'GET, HEAD, POST', Connection: 'close' } }),
      );
      return true;
    }
    const answer = responder.answerText(rest, requestInPath);
    if (answer instanceof Promise) void answer.then(send);
    else send(answer);
    return true;
  };
}

const ownHeaders = ['X-API-Version', apiVersion];
const typeHeaders = ['Content-Type', 'application/ocsp-response', 'X-Content-Type-Options', 'nosniff'];

/** The headers that caches need for an answer to GET that others may have too (RFC 5019 §6.2). */
function sendAnswer(request: IncomingMessage, response: ServerResponse, answer: OcspAnswer): void {
  const { der, cacheable } = answer;
  const end = request.method === 'HEAD' ? undefined : der;
  const length = ['Content-Length', String(der.length)];
  if (cacheable === undefined || request.method === 'POST') {
    response.writeHead(200, [...ownHeaders, ...typeHeaders, ...length, 'Cache-Control', 'no-store', ...closing(request)]).end(end);
    return;
  }
  const caching = [...ownHeaders, ...cachingHeaders(answer, cacheable)];
  if (isUnchanged(request, cacheable.etag, cacheable.thisUpdate)) response.writeHead(304, [...caching, ...closing(request)]).end();
  else response.writeHead(200, [...typeHeaders, ...length, ...caching, ...closing(request)]).end(end);
}

/** The headers of kept answers, which are the same for a second. */
const written = new WeakMap<OcspAnswer, { readonly second: number; readonly headers: readonly string[] }>();

function cachingHeaders(answer: OcspAnswer, cacheable: NonNullable<OcspAnswer['cacheable']>): readonly string[] {
  const second = Math.floor(Date.now() / 1000);
  const known = written.get(answer);
  if (known?.second === second) return known.headers;
  const { thisUpdate, nextUpdate, etag, maxAgeSeconds } = cacheable;
  const maxAge = Math.max(0, Math.min(maxAgeSeconds, Math.floor(nextUpdate.getTime() / 1000) - second));
  const headers = [
    ...['ETag', etag, 'Last-Modified', thisUpdate.toUTCString(), 'Expires', new Date((second + maxAge) * 1000).toUTCString()],
    ...['Cache-Control', `public, max-age=${maxAge}, no-transform, must-revalidate`],
  ];
  written.set(answer, { second, headers });
  return headers;
}

const none: readonly string[] = [];

/** A body that comes with a GET is not read, so the connection cannot go on. */
function closing({ method, headers }: IncomingMessage): readonly string[] {
  if (method === 'POST') return none;
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  return hasBody ? ['Connection', 'close'] : none;
}
