import { Counter, Histogram, type Registry } from 'prom-client';

export interface MessageMetrics {
  /** A gateway was asked to take a message. */
  asked(channel: 'sms' | 'email', accepted: boolean, tookMs: number): void;
}

/** From an answer on this machine to the longest time-out that can be configured. */
const buckets = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300];

/** Metrics of the gateways: what they take, and how long they take for it. */
export function messageMetrics(registry: Registry): MessageMetrics {
  const registers = [registry];
  const messages = new Counter({
    name: 'signetd_messages_total',
    help: 'Messages that a gateway was asked to take, by channel and outcome: taken, refused (no answer in time included).',
    labelNames: ['channel', 'outcome'] as const,
    registers,
  });
  const seconds = new Histogram({
    name: 'signetd_message_seconds',
    help: 'Time until a gateway answered, or was given up.',
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
