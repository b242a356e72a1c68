import { z } from 'zod';
import { keyTypes, type KeyType } from '../../config/key-types.ts';
import { TokenReport } from './token-report.ts';

/**
 * `works`: a key was made and its signature verified. `offered`: the token claims support.
 * `missing`: no support.
 */
const states = ['works', 'offered', 'missing'] as const;

/**
 * Result of probing a token: plain data, for the daemon (in the host's greeting) and for operators.
 */
export const ProbeReport = z.strictObject({
  /** Vendor named in the profile. */
  vendor: z.string(),
  module: z.strictObject({ description: z.string(), manufacturer: z.string(), version: z.string(), cryptokiVersion: z.string() }),
  token: TokenReport,
  /** Whether keys of every type were made and tried. */
  full: z.boolean(),
  mechanisms: z.array(
    z.strictObject({ name: z.string(), offered: z.boolean(), hardware: z.boolean(), minKeySize: z.number(), maxKeySize: z.number() }),
  ),
  keyTypes: z.array(z.strictObject({ type: z.enum(keyTypes), state: z.enum(states) })),
  /**
   * Missing features that the service requires, one sentence each. The host does not start if there
   * are any.
   */
  missing: z.array(z.string()),
  /** Missing features that the service can do without or replace. */
  limits: z.array(z.string()),
});
export type ProbeReport = z.output<typeof ProbeReport>;

/** Returns the wanted key types that the token cannot make or sign with. */
export function missingKeyTypes(report: ProbeReport, wanted: Iterable<KeyType>): KeyType[] {
  const missing = new Set(report.keyTypes.filter(({ state }) => state === 'missing').map(({ type }) => type));
  return [...new Set(wanted)].filter((type) => missing.has(type));
}
