import { Counter, type Registry, Histogram } from 'prom-client';
import type { Logger } from './log.ts';

const kinds = ['time-stamp', 'OCSP', 'CRL'] as const;
const outcomes = ['answered', 'failed', 'abandoned'] as const;

/**
 * Result of a request to another server. `why` contains no URL beyond the host, and nothing of what
 * was sent.
 */
export interface OutgoingEnd {
  readonly kind: (typeof kinds)[number];
  readonly host: string;
  /**
   * `abandoned`: nobody waits for it any longer. `unusable`: the content of an answer, which was
   * counted as answered before.
   */
  readonly outcome: (typeof outcomes)[number] | 'unusable';
  readonly why?: string;
}

/** Minimum time between two log lines about a host that fails for the same reason. */
const silenceMs = 60_000;
/**
 * Maximum number of lines within that time, since callers and certificates can name any host, whose
 * answers can differ.
 */
const linesMax = 100;
/** Of one host: others must remain visible. */
const linesMaxPerHost = 5;

/**
 * Counts requests to other servers and logs hosts that fail. Returns a function to be called for each
 * request. `now` is a monotonic clock.
 */
export function outgoingMetrics(
  registry: Registry,
  log: Logger,
  now: () => number = () => performance.now(),
): (ended: OutgoingEnd) => void {
  const requests = new Counter({
    name: 'signetd_outgoing_requests_total',
    help: 'Requests to other servers by kind (time-stamp, OCSP, CRL) and outcome (answered, failed, abandoned).',
    labelNames: ['kind', 'outcome'] as const,
    registers: [registry],
  });
  for (const kind of kinds) for (const outcome of outcomes) requests.inc({ kind, outcome }, 0);
  let logged: { readonly host: string; readonly why: string | undefined; readonly atMs: number }[] = [];
  return ({ kind, host, outcome, why }) => {
    if (outcome !== 'unusable') requests.inc({ kind, outcome });
    if (outcome !== 'failed' && outcome !== 'unusable') return;
    const nowMs = now();
    logged = logged.filter(({ atMs }) => nowMs - atMs < silenceMs);
    const ofHost = logged.filter((one) => one.host === host);
    if (ofHost.some((one) => one.why === why) || ofHost.length >= linesMaxPerHost || logged.length >= linesMax) return;
    logged.push({ host, why, atMs: nowMs });
    log.warn(outcome === 'failed' ? 'a request to another server failed' : 'the answer of another server is of no use', {
      kind,
      host,
      reason: why,
    });
  };
}

export interface MessageMetrics {
  /** Records an attempt to pass a message to a gateway. */
  asked(channel: 'sms' | 'email', accepted: boolean, tookMs: number): void;
}

/** From a response on the same machine to the longest configurable timeout. */
const buckets = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300];

/** Metrics of the gateways: messages accepted and refused, and response times. */
export function messageMetrics(registry: Registry): MessageMetrics {
  const registers = [registry];
  const messages = new Counter({
    name: 'signetd_messages_total',
    help: 'Messages passed to a gateway, by channel and outcome: taken, refused (including timeouts).',
    labelNames: ['channel', 'outcome'] as const,
    registers,
  });
  const seconds = new Histogram({
    name: 'signetd_message_seconds',
    help: 'Time until a gateway answered or timed out.',
    labelNames: ['channel'] as const,
    buckets,
    registers,
  });
  for (const channel of ['sms', 'email']) for (const outcome of ['taken', 'refused']) messages.inc({ channel, outcome }, 0);
  return {
    asked(channel, accepted, tookMs) {
      messages.inc({ channel, outcome: accepted ? 'taken' : 'refused' });
      seconds.observe({ channel }, tookMs / 1000);
    },
  };
}
