import { z } from 'zod';

const mebibyte = 1024 * 1024;
export const documentsAbsoluteMax = 10_000;
const Count = z.int().positive();
const Seconds = z.number().positive().max(3600);

/** Limits of single operations, which an operation names in its description. */
export const operationPaces = ['otpsPerMinute', 'messagesPerMinute'] as const;
export type OperationPaceName = (typeof operationPaces)[number];

/** What callers may ask of the service, each alone and all together (docs/operating.md, Limits). */
export const LimitsConfig = z
  .strictObject({
    jsonBodyMaxBytes: Count.default(64 * mebibyte).describe('Bytes of a JSON body; more is 413.'),
    jsonValuesMax: Count.max(1_000_000)
      .default(10_000)
      .describe('Values in a JSON body: objects, lists, texts, numbers; more is 413. Each costs memory of many times its bytes.'),
    answerMaxBytes: Count.default(64 * mebibyte).describe(
      'Bytes of evidence in one answer with outputMode BASE_64 or PLAIN; more is 1/104. FTM and FILE_PATH take any size.',
    ),
    documentsMax: Count.max(documentsAbsoluteMax).default(100).describe('Documents in a request; more is 1/102.'),
    bodiesMaxBytes: Count.default(512 * mebibyte).describe('Bytes of all bodies in memory; beyond it requests are 503.'),
    bodiesMaxBytesPerClient: Count.default(192 * mebibyte).describe(
      "Bytes of one client's bodies in memory; beyond it its requests are 429.",
    ),
    requestsMax: Count.default(1024).describe('Requests that are worked on at the same time; beyond it they are 503.'),
    requestsMaxPerClient: Count.default(256).describe("One client's requests at the same time; beyond it they are 429."),
    requestsPerSecond: Count.default(100).describe("One client's requests per second over time; beyond it they are 429."),
    requestsBurst: Count.default(200).describe("One client's requests that may come at once after a rest."),
    keptAnswersMaxBytes: Count.default(8192 * mebibyte).describe(
      'Bytes of the answers that are kept for repeated requests (Idempotency-Key); beyond it requests with such a key are 503, before anything is done.',
    ),
    keptAnswersMaxBytesPerClient: Count.default(2048 * mebibyte).describe(
      "Bytes of one client's kept answers, each with 512 for its place; beyond it its requests with an Idempotency-Key are 429.",
    ),
    otpsPerMinute: Count.default(20).describe(
      "One client's requests of sendOTP per minute over time, and at once after a rest; beyond it they are 429.",
    ),
    messagesPerMinute: Count.default(600).describe(
      "One client's requests of sendMessage per minute over time, and at once after a rest; beyond it they are 429.",
    ),
    connectionsMax: Count.default(4096).describe('Open connections; further ones are closed before any TLS.'),
    connectionsMaxUnadmitted: Count.optional().describe(
      'Of those, connections on which no registered client has shown itself yet: so many from addresses from which one came lately, and so many from all others. A further one takes the place of the first of the address with the most. Absent: a quarter of connectionsMax each.',
    ),
    connectionsMaxUnadmittedPerAddress: Count.default(256).describe(
      'Of those, connections from one address (IPv6: one /64) from which no registered client came lately. A further one takes the place of the first.',
    ),
    handshakeTimeoutSeconds: Seconds.default(10).describe('Seconds that a TLS handshake may take.'),
    headersTimeoutSeconds: Seconds.default(10).describe('Seconds that the head of a request may take; longer is 408.'),
    requestTimeoutSeconds: Seconds.default(120).describe('Seconds that a whole request may take, head and body; longer is 408.'),
    keepAliveTimeoutSeconds: Seconds.default(60).describe('Seconds that a connection may rest between two requests before it is closed.'),
    stalledTimeoutSeconds: Seconds.default(150).describe(
      'Seconds without a byte in either direction after which a connection with a request on its way is closed.',
    ),
    drainSeconds: z.number().nonnegative().default(30).describe('Seconds that running requests have at a stop.'),
  })
  .refine(({ connectionsMax, connectionsMaxUnadmitted = 1 }) => 2 * connectionsMaxUnadmitted <= Math.max(2, connectionsMax), {
    path: ['connectionsMaxUnadmitted'],
    message: 'at most half of connectionsMax: it counts twice',
  })
  .refine(({ bodiesMaxBytesPerClient, jsonBodyMaxBytes }) => bodiesMaxBytesPerClient >= jsonBodyMaxBytes, {
    path: ['bodiesMaxBytesPerClient'],
    message: 'at least jsonBodyMaxBytes: no body of that size could come otherwise',
  })
  .refine(({ bodiesMaxBytes, bodiesMaxBytesPerClient }) => bodiesMaxBytes >= bodiesMaxBytesPerClient, {
    path: ['bodiesMaxBytes'],
    message: 'at least bodiesMaxBytesPerClient',
  })
  .refine(({ keptAnswersMaxBytes, keptAnswersMaxBytesPerClient }) => keptAnswersMaxBytes >= keptAnswersMaxBytesPerClient, {
    path: ['keptAnswersMaxBytes'],
    message: 'at least keptAnswersMaxBytesPerClient',
  })
  .refine(({ headersTimeoutSeconds, requestTimeoutSeconds }) => requestTimeoutSeconds >= headersTimeoutSeconds, {
    path: ['requestTimeoutSeconds'],
    message: 'at least headersTimeoutSeconds, which is a part of it',
  });
export type LimitsConfig = z.output<typeof LimitsConfig>;

/** Connections that no client has been admitted on, from addresses that are known and from others each. */
export function unadmittedMax({
  connectionsMax,
  connectionsMaxUnadmitted,
}: Pick<LimitsConfig, 'connectionsMax' | 'connectionsMaxUnadmitted'>): number {
  return connectionsMaxUnadmitted ?? Math.ceil(connectionsMax / 4);
}
