import { Counter, Histogram, type Registry } from 'prom-client';

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
  return {
    asked(channel, accepted, tookMs) {
      messages.inc({ channel, outcome: accepted ? 'taken' : 'refused' });
      seconds.observe({ channel }, tookMs / 1000);
    },
  };
}
