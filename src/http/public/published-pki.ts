import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PublishedCrl } from '../../certificates/crl/crl-publisher.ts';
import type { PublishedAuthority } from '../../certificates/crl/crl-publishers.ts';
import { isUnchanged } from './conditional-request.ts';
import { Problem, sendProblem } from '../problem.ts';
import { apiVersion } from '../send.ts';

/** Answers the request and returns true, or returns false if the request is not this handler's. */
export type PublicHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

interface Published {
  readonly body: Uint8Array;
  readonly mediaType: string;
  readonly etag: string;
  readonly lastModified: Date;
  readonly maxAgeSeconds: number;
}

const path = /^\/pki\/([a-z0-9][a-z0-9-]{0,63})\.(crl|cer)$/;
/** An authority's certificate changes with a renewal, and hardly ever. */
const certificateMaxAgeSeconds = 3600;

/**
 * `/pki/{ca}.crl` (RFC 5280 4.2.1.13, RFC 2585 §4.2) and `/pki/{ca}.cer` (RFC 5280 4.2.2.1), from
 * memory, with what caches need (RFC 9110 §8.8, §13).
 */
export function publishedPki(find: (authority: string) => PublishedAuthority | undefined): PublicHandler {
  return (request, response) => {
    const [target = ''] = (request.url ?? '').split('?');
    const [, name = '', ending] = path.exec(target) ?? [];
    const authority = find(name);
    if (authority === undefined) return false;
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      sendProblem(response, new Problem(405, 'only GET and HEAD are supported', { headers: { Allow: 'GET, HEAD', Connection: 'close' } }));
      return true;
    }
    if (ending === 'cer') {
      answer(request, response, certificateOf(authority));
      return true;
    }
    void authority.latestCrl().then((crl) => {
      if (crl !== undefined) answer(request, response, listOf(crl, authority));
      else sendProblem(response, new Problem(503, 'no CRL has been issued yet', { headers: { 'Retry-After': '1' } }));
    });
    return true;
  };
}

function listOf(crl: PublishedCrl, { cacheSeconds }: PublishedAuthority): Published {
  const remainingSeconds = Math.max(0, Math.floor((crl.nextUpdate.getTime() - Date.now()) / 1000));
  return {
    body: crl.der,
    mediaType: 'application/pkix-crl',
    etag: `"${crl.digest}"`,
    lastModified: crl.thisUpdate,
    maxAgeSeconds: Math.min(cacheSeconds, remainingSeconds),
  };
}

function certificateOf({ certificate, notBefore }: PublishedAuthority): Published {
  return {
    body: certificate,
    mediaType: 'application/pkix-cert',
    etag: `"${createHash('sha256').update(certificate).digest('base64url')}"`,
    lastModified: notBefore,
    maxAgeSeconds: certificateMaxAgeSeconds,
  };
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { body, mediaType, etag, lastModified, maxAgeSeconds }: Published,
): void {
  const headers = {
    'X-API-Version': apiVersion,
    ETag: etag,
    'Last-Modified': lastModified.toUTCString(),
    'Cache-Control': `public, max-age=${maxAgeSeconds}, must-revalidate`,
    Expires: new Date(Date.now() + maxAgeSeconds * 1000).toUTCString(),
    // What comes with the request is not read, so the connection cannot go on.
    ...(hasBody(request) ? { Connection: 'close' } : {}),
  };
  if (isUnchanged(request, etag, lastModified)) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(200, { ...headers, 'Content-Type': mediaType, 'Content-Length': body.length, 'X-Content-Type-Options': 'nosniff' });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
