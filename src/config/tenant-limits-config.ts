import { z } from 'zod';

const Count = z.int().positive();

/** Limits of one client; each replaces the one of the same purpose in `limits`. */
const ClientLimitsConfig = z.strictObject({
  requestsPerSecond: Count.optional().describe('Sustained requests per second of the client, instead of limits.requestsPerSecond.'),
  requestsBurst: Count.optional().describe(
    'Number of requests that the client may send in a burst. Default: twice requestsPerSecond, if that is set here.',
  ),
  requestsMax: Count.optional().describe('Maximum number of concurrent requests of the client, instead of limits.requestsMaxPerClient.'),
  bodiesMaxBytes: Count.optional().describe("Maximum bytes of the client's bodies in memory, instead of limits.bodiesMaxBytesPerClient."),
  keptAnswersMaxBytes: Count.optional().describe(
    "Maximum bytes of the client's kept responses, instead of limits.keptAnswersMaxBytesPerClient.",
  ),
  otpsPerMinute: Count.optional().describe('Sustained sendOTP requests per minute of the client, instead of limits.otpsPerMinute.'),
  messagesPerMinute: Count.optional().describe(
    'Sustained sendMessage requests per minute of the client, instead of limits.messagesPerMinute.',
  ),
  connectionsMax: Count.optional().describe('Maximum number of connections of the client, instead of limits.connectionsMaxPerClient.'),
});
type ClientLimitsConfig = z.output<typeof ClientLimitsConfig>;

/** Limits of a tenant and of its clients (docs/limits.md, Limit a client). */
export const TenantLimitsConfig = z.strictObject({
  requestsPerSecond: Count.optional().describe(
    'Sustained requests per second of all clients of the tenant together; beyond it they get status 429. Default: no limit beyond that of each client.',
  ),
  requestsBurst: Count.optional().describe(
    'Number of requests that all clients of the tenant together may send in a burst. Default: twice requestsPerSecond. Requires requestsPerSecond.',
  ),
  requestsMax: Count.optional().describe(
    'Maximum number of concurrent requests of the tenant; beyond it they get status 429. Default: of several tenants, half of limits.requestsMax.',
  ),
  bodiesMaxBytes: Count.optional().describe(
    "Maximum bytes of the tenant's bodies in memory; beyond it its requests get status 429. Default: of several tenants, half of limits.bodiesMaxBytes.",
  ),
  keptAnswersMaxBytes: Count.optional().describe(
    "Maximum bytes of the tenant's kept responses; beyond it its requests with an Idempotency-Key get status 429. Default: of several tenants, half of limits.keptAnswersMaxBytes.",
  ),
  connectionsMax: Count.optional().describe(
    "Maximum number of connections of the tenant's clients; a further one is closed after its handshake. Default: of several tenants, half of limits.connectionsMax.",
  ),
  perClient: ClientLimitsConfig.prefault({}).describe('Limits of each client of the tenant that is not named in clients.'),
  clients: z
    .record(z.string().min(1).max(64), ClientLimitsConfig)
    .default({})
    .describe(
      'Limits of single clients, by the name that signetctl client list shows. What is not set for a client is as in perClient. If several public keys are registered under the name, each has these limits.',
    ),
});
export type TenantLimitsConfig = z.output<typeof TenantLimitsConfig>;
