import { OutgoingHttp, type OutgoingAnswer, type OutgoingRequest, type OutgoingSettings } from '../outgoing/outgoing-http.ts';
import type { OutgoingEnd } from '../telemetry/outgoing-metrics.ts';

/** Tells how each request ended: callers alone are told else. */
export class WatchedHttp extends OutgoingHttp {
  readonly #ended: (end: OutgoingEnd) => void;

  constructor(settings: OutgoingSettings, ended: (end: OutgoingEnd) => void) {
    super(settings);
    this.#ended = ended;
  }

  override async fetch(asked: OutgoingRequest): Promise<OutgoingAnswer> {
    const of = { kind: kindOf(asked), host: asked.url.host };
    try {
      const answer = await super.fetch(asked);
      this.#ended({ ...of, outcome: 'answered' });
      return answer;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#ended({ ...of, outcome: isAbandoned(asked) ? 'abandoned' : 'failed', why });
      throw error;
    }
  }
}

/** By what is sent: CRLs are fetched, the others are asked. */
function kindOf({ method, headers = {} }: OutgoingRequest): OutgoingEnd['kind'] {
  if (method === 'GET') return 'CRL';
  return headers['Content-Type'] === 'application/timestamp-query' ? 'time-stamp' : 'OCSP';
}

/** Whether who asked has left, before any time was over. */
function isAbandoned({ signal }: OutgoingRequest): boolean {
  const reason: unknown = signal?.aborted === true ? signal.reason : undefined;
  return reason !== undefined && !(reason instanceof DOMException && reason.name === 'TimeoutError');
}
