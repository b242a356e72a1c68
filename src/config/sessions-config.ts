import { z } from 'zod';

const gibibyte = 1024 ** 3;
const Count = z.int().positive();

/** Signatures in two steps (remotePreSign, remoteSign), between the steps. */
export const SessionsConfig = z.strictObject({
  ttlSeconds: z
    .int()
    .min(1)
    .max(30 * 86_400)
    .default(3600)
    .describe('Seconds from remotePreSign within which remoteSign can complete a session.'),
  openMaxPerClient: Count.default(10_000).describe("One client's open sessions; beyond it remotePreSign is 2/243."),
  openMaxPerTenant: Count.default(20_000).describe("One tenant's open sessions; beyond it remotePreSign is 2/243."),
  spoolMaxBytes: Count.default(8 * gibibyte).describe(
    'Bytes of content that open sessions hold, all together; beyond it remotePreSign is 2/243.',
  ),
  spoolMaxBytesPerTenant: Count.default(4 * gibibyte).describe(
    "Bytes of content that one tenant's open sessions hold; beyond it remotePreSign is 2/243.",
  ),
  scratchDirectory: z
    .string()
    .min(1)
    .default('/var/tmp')
    .describe('Where content over 1 MiB is put, in a file without a name, while remoteSign completes its signature.'),
});
export type SessionsConfig = z.output<typeof SessionsConfig>;
