import { readFileSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import type { OutgoingRequest } from '../outgoing/exchange.ts';
import { OutgoingHttp } from '../outgoing/outgoing-http.ts';
import type { OutgoingEnd } from '../telemetry/outgoing-metrics.ts';

/**
 * Makes a client for other servers by the rules of a configuration. `asked` is told how each
 * request ended.
 * @throws {ConfigError} for a file that cannot be read
 */
export function outgoingClient(outgoing: Config['outgoing'], asked: (end: OutgoingEnd) => void): OutgoingHttp {
  const { certificateAuthority } = outgoing;
  const roots = certificateAuthority === undefined ? undefined : readText('outgoing.certificateAuthority', certificateAuthority);
  return new OutgoingHttp({
    ...outgoing,
    certificateAuthority: roots,
    ended: (request, failure) => {
      asked(outgoingEnd(request, failure));
    },
    unusable: (request, why) => {
      asked(unusableAnswer(request, why));
    },
  });
}

/** @throws {ConfigError} naming the member */
export function readText(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Describes the end of a request to another server, for metrics and the log. */
export function outgoingEnd(asked: OutgoingRequest, failure: Error | undefined): OutgoingEnd {
  const of = { kind: kindOf(asked), host: asked.url.host };
  if (failure === undefined) return { ...of, outcome: 'answered' };
  return { ...of, outcome: isAbandoned(asked) ? 'abandoned' : 'failed', why: failure.message };
}

/** Describes an answer whose content is of no use, for the log. */
export function unusableAnswer(asked: OutgoingRequest, { message }: Error): OutgoingEnd {
  return { kind: kindOf(asked), host: asked.url.host, outcome: 'unusable', why: message };
}

/** Tells the kinds apart by what is sent: CRLs are fetched, the others are asked. */
function kindOf({ method, headers = {} }: OutgoingRequest): OutgoingEnd['kind'] {
  if (method === 'GET') return 'CRL';
  return headers['Content-Type'] === 'application/timestamp-query' ? 'time-stamp' : 'OCSP';
}

/** Whether the asking side gave up before a time-out. */
function isAbandoned({ signal }: OutgoingRequest): boolean {
  const reason: unknown = signal?.aborted === true ? signal.reason : undefined;
  return reason !== undefined && !(reason instanceof DOMException && reason.name === 'TimeoutError');
}
