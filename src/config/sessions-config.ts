import { z } from 'zod';

const gibibyte = 1024 ** 3;
const Count = z.int().positive();

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
