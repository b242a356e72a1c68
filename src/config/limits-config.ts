import { z } from 'zod';

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;
export const documentsAbsoluteMax = 10_000;
const Count = z.int().positive();
const Rate = z.number().positive();
const Seconds = z.number().positive().max(3600);

/** Rate limits for single operations, which refer to them in their descriptions. */
export const operationPaces = ['otpsPerMinute', 'messagesPerMinute'] as const;
export type OperationPaceName = (typeof operationPaces)[number];

/** Limits for each caller and for all together (docs/limits.md). */
export const LimitsConfig = z
  .strictObject({
    jsonBodyMaxBytes: Count.default(64 * mebibyte).describe('Maximum size of a JSON body in bytes; a larger one gets status 413.'),
    jsonValuesMax: Count.max(1_000_000)
      .default(10_000)
      .describe(
        'Maximum number of values in a JSON body (objects, lists, strings, numbers); more get status 413. Each takes many times its size in memory.',
      ),
    answerMaxBytes: Count.default(64 * mebibyte).describe(
      'Maximum bytes of evidence in one response with outputMode BASE_64 or PLAIN; more is refused with 1/104. FTM and FILE_PATH have no limit.',
    ),
    documentsMax: Count.max(documentsAbsoluteMax)
      .default(100)
      .describe('Maximum number of documents in a request; more is refused with 1/102.'),
    bodiesMaxBytes: Count.default(512 * mebibyte).describe(
      'Maximum bytes of all bodies in memory; beyond it requests get status 503. Of several tenants, one may have half.',
    ),
    bodiesMaxBytesPerClient: Count.default(192 * mebibyte).describe(
      "Maximum bytes of one client's bodies in memory; beyond it its requests get status 429.",
    ),
    requestsMax: Count.default(1024).describe(
      'Maximum number of concurrent requests; beyond it they get status 503. Of several tenants, one may have half.',
    ),
    requestsMaxPerClient: Count.default(256).describe(
      'Maximum number of concurrent requests of one client; beyond it they get status 429.',
    ),
    requestsPerSecond: Count.default(100).describe('Sustained requests per second of one client; beyond it they get status 429.'),
    requestsBurst: Count.default(200).describe('Number of requests that one client may send in a burst.'),
    keptAnswersMaxBytes: Count.default(8192 * mebibyte).describe(
      'Maximum bytes of the responses kept for repeated requests (Idempotency-Key); beyond it requests with such a key get status 503, before anything is done. Of several tenants, one may have half.',
    ),
    keptAnswersMaxBytesPerClient: Count.default(2048 * mebibyte).describe(
      "Maximum bytes of one client's kept responses, plus 512 for each; beyond it its requests with an Idempotency-Key get status 429.",
    ),
    otpsPerMinute: Count.default(20).describe(
      'Sustained sendOTP requests per minute of one client, and size of a burst; beyond it they get status 429.',
    ),
    messagesPerMinute: Count.default(600).describe(
      'Sustained sendMessage requests per minute of one client, and size of a burst; beyond it they get status 429.',
    ),
    wrongSecretsBurstPerClient: Count.default(30).describe(
      'Number of wrong secrets that one client may send in a burst, over all keys; beyond it no secret of the client is compared, and its requests with one get status 429.',
    ),
    wrongSecretsPerMinutePerClient: Rate.default(10).describe('Wrong secrets per minute that one client may send after that.'),
    wrongSecretsBurstPerTenant: Count.default(150).describe(
      'Number of wrong secrets that all clients of a tenant together may send in a burst; beyond it no secret of the tenant is compared, and its requests with one get status 429.',
    ),
    wrongSecretsPerMinutePerTenant: Rate.default(50).describe(
      'Wrong secrets per minute that all clients of a tenant together may send after that.',
    ),
    connectionsMax: Count.default(4096).describe('Maximum number of open connections; further ones are closed before TLS.'),
    connectionsMaxPerClient: Count.optional().describe(
      'Maximum number of open connections of one client; a further one is closed after its handshake. Default: what its tenant may have.',
    ),
    connectionsMaxUnadmitted: Count.optional().describe(
      'Maximum number of these connections without an authenticated registered client yet: this many from addresses with a recent client, and this many from all others. A further one replaces the oldest one of the address with the most. Default: a quarter of connectionsMax each.',
    ),
    connectionsMaxUnadmittedPerAddress: Count.default(256).describe(
      'Maximum number of those from one address (IPv6: one /64) without a recent registered client. A further one replaces the oldest.',
    ),
    handshakeTimeoutSeconds: Seconds.default(10).describe('Maximum duration of a TLS handshake in seconds.'),
    headersTimeoutSeconds: Seconds.default(10).describe(
      'Maximum time in seconds to receive the headers of a request; a slower one gets status 408.',
    ),
    requestTimeoutSeconds: Seconds.default(120).describe(
      'Maximum time in seconds to receive a whole request; a slower one gets status 408.',
    ),
    keepAliveTimeoutSeconds: Seconds.default(60).describe('Seconds after which an idle connection is closed.'),
    stalledTimeoutSeconds: Seconds.default(150).describe(
      'Seconds without a byte in either direction after which a connection with a pending request is closed.',
    ),
    drainSeconds: z.number().nonnegative().default(30).describe('Seconds that running requests have to complete on shutdown.'),
  })
  .refine(({ connectionsMax, connectionsMaxUnadmitted = 1 }) => 2 * connectionsMaxUnadmitted <= Math.max(2, connectionsMax), {
    path: ['connectionsMaxUnadmitted'],
    message: 'must be at most half of connectionsMax, since it counts twice',
  })
  .refine(({ connectionsMax, connectionsMaxPerClient = 1 }) => connectionsMax >= connectionsMaxPerClient, {
    path: ['connectionsMaxPerClient'],
    message: 'must be at most connectionsMax',
  })
  .refine(({ bodiesMaxBytesPerClient, jsonBodyMaxBytes }) => bodiesMaxBytesPerClient >= jsonBodyMaxBytes, {
    path: ['bodiesMaxBytesPerClient'],
    message: 'must be at least jsonBodyMaxBytes, or bodies of that size would never fit',
  })
  .refine(({ bodiesMaxBytes, bodiesMaxBytesPerClient }) => bodiesMaxBytes >= bodiesMaxBytesPerClient, {
    path: ['bodiesMaxBytes'],
    message: 'must be at least bodiesMaxBytesPerClient',
  })
  .refine(({ keptAnswersMaxBytes, keptAnswersMaxBytesPerClient }) => keptAnswersMaxBytes >= keptAnswersMaxBytesPerClient, {
    path: ['keptAnswersMaxBytes'],
    message: 'must be at least keptAnswersMaxBytesPerClient',
  })
  .refine(({ wrongSecretsBurstPerClient, wrongSecretsBurstPerTenant }) => wrongSecretsBurstPerTenant >= wrongSecretsBurstPerClient, {
    path: ['wrongSecretsBurstPerTenant'],
    message: 'must be at least wrongSecretsBurstPerClient, or one client could use up the share of all',
  })
  .refine(
    ({ wrongSecretsPerMinutePerClient, wrongSecretsPerMinutePerTenant }) =>
      wrongSecretsPerMinutePerTenant >= wrongSecretsPerMinutePerClient,
    {
      path: ['wrongSecretsPerMinutePerTenant'],
      message: 'must be at least wrongSecretsPerMinutePerClient, or one client could use up the share of all',
    },
  )
  .refine(({ headersTimeoutSeconds, requestTimeoutSeconds }) => requestTimeoutSeconds >= headersTimeoutSeconds, {
    path: ['requestTimeoutSeconds'],
    message: 'must be at least headersTimeoutSeconds, which it includes',
  });
export type LimitsConfig = z.output<typeof LimitsConfig>;

/** Of so many tenants, each may have half of what all may have, and always what one client may. */
export function maxOfTenant(tenants: number, { all, client }: { readonly all: number; readonly client: number }): number {
  return tenants > 1 ? Math.max(client, Math.floor(all / 2)) : all;
}

/**
 * Returns the limit on connections without an admitted client, which applies to known addresses and
 * to others separately.
 */
export function unadmittedMax({
  connectionsMax,
  connectionsMaxUnadmitted,
}: Pick<LimitsConfig, 'connectionsMax' | 'connectionsMaxUnadmitted'>): number {
  return connectionsMaxUnadmitted ?? Math.ceil(connectionsMax / 4);
}

/** Sessions of two-step signatures (remotePreSign, remoteSign). */
export const SessionsConfig = z.strictObject({
  ttlSeconds: z
    .int()
    .min(1)
    .max(30 * 86_400)
    .default(3600)
    .describe('Seconds after remotePreSign within which remoteSign can complete a session.'),
  openMaxPerClient: Count.default(10_000).describe("Maximum number of one client's open sessions; beyond it remotePreSign returns 2/243."),
  openMaxPerTenant: Count.default(20_000).describe("Maximum number of one tenant's open sessions; beyond it remotePreSign returns 2/243."),
  spoolMaxBytes: Count.default(8 * gibibyte).describe(
    'Maximum bytes of content in all open sessions; beyond it remotePreSign returns 2/243.',
  ),
  spoolMaxBytesPerTenant: Count.default(4 * gibibyte).describe(
    "Maximum bytes of content in one tenant's open sessions; beyond it remotePreSign returns 2/243.",
  ),
  scratchDirectory: z
    .string()
    .min(1)
    .default('/var/tmp')
    .describe('Directory for unnamed temporary files that hold content over 1 MiB while remoteSign completes its signature.'),
});
export type SessionsConfig = z.output<typeof SessionsConfig>;
