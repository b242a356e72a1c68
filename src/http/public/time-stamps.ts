import type { ServerResponse } from 'node:http';
import { TooManySignatures, type SigningLimit } from '../../certificates/ocsp/signing-limit.ts';
import type { Logger } from '../../telemetry/log.ts';
import { timeStampRequestMaxBytes } from '../../timestamp/request.ts';
import { rejection } from '../../timestamp/response.ts';
import type { TimeStampAuthority } from '../../timestamp/time-stamp-authority.ts';
import { TokenUnavailable } from '../../token/token.ts';
import { Problem, sendProblem } from '../problem.ts';
import type { PublicHandler } from './published-pki.ts';
import { apiVersion } from '../send.ts';
import { readShortBody } from '../body/short-body.ts';

interface TimeStampOptions {
  /** Undefined where none is configured. */
  readonly authority: () => TimeStampAuthority | undefined;
  /** What strangers may have of the token. */
  readonly limit: SigningLimit;
  /** Told of requests that came to no answer of the authority. */
  readonly failed: (outcome: 'systemFailure' | 'tooMany') => void;
  readonly log: Logger;
}

const requestBody = { mediaType: 'application/timestamp-query', maxBytes: timeStampRequestMaxBytes };
const path = /^\/tsa(?:\?|$)/;

/** `/tsa` by POST (RFC 3161 §3.4). */
export function timeStamps({ authority, limit, failed, log }: TimeStampOptions): PublicHandler {
  return (request, response) => {
    const own = path.test(request.url ?? '') ? authority() : undefined;
    if (own === undefined) return false;
    if (request.method !== 'POST') {
      sendProblem(response, new Problem(405, 'only POST is supported', { headers: { Allow: 'POST', Connection: 'close' } }));
      return true;
    }
    void readShortBody(request, requestBody).then(
      async (body) => {
        if (body instanceof Problem) sendProblem(response, body);
        else await own.respond(body, async (work) => limit.run(work)).then((answer) => sendAnswer(response, answer), fail);
      },
      () => request.destroy(),
    );
    return true;

    function fail(error: unknown): void {
      if (error instanceof TooManySignatures) {
        failed('tooMany');
        sendProblem(response, new Problem(503, 'too many time-stamp requests', { headers: { 'Retry-After': '1' } }));
        return;
      }
      failed('systemFailure');
      if (!(error instanceof TokenUnavailable))
        log.error('a time-stamp could not be made', { reason: error instanceof Error ? error.message : String(error) });
      sendAnswer(response, rejection({ failure: 'systemFailure', message: 'the authority cannot sign now' }));
    }
  };
}

function sendAnswer(response: ServerResponse, der: Uint8Array): void {
  response
    .writeHead(200, {
      'X-API-Version': apiVersion,
      'Content-Type': 'application/timestamp-reply',
      'Content-Length': der.length,
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
    })
    .end(der);
}
