import { z } from 'zod';
import { Base64, ObjectIdentifier } from '../../fields/values.ts';
import { imprintHashes, type ImprintHash } from '../../timestamp/request.ts';
import type { Context } from '../operation.ts';
import { cscOperation } from './csc-operation.ts';
import { invalidRequest } from './errors.ts';
import { ClientData, exampleHash } from './parameters.ts';

const nonceMaxDigits = 64;

const TimestampRequest = z.strictObject({
  hash: Base64.refine((hash) => hash.length > 0, 'Empty hash parameter').meta({
    description: 'the hash to be time-stamped, base64',
    minLength: 4,
  }),
  hashAlgo: ObjectIdentifier.describe('SHA-256 (2.16.840.1.101.3.4.2.1), SHA-384 (….2), SHA-512 (….3)'),
  nonce: z
    .string()
    .regex(/^[0-9a-fA-F]+$/)
    .max(nonceMaxDigits)
    .optional()
    .describe('a number that the time-stamp repeats, hexadecimal'),
  clientData: ClientData,
});

const described = {
  method: 'signatures/timestamp',
  summary: 'Returns a time-stamp of a hash, from the time-stamp authorities of the configuration.',
  request: TimestampRequest,
  example: { hash: exampleHash, hashAlgo: '2.16.840.1.101.3.4.2.1' },
  answer: z.strictObject({ timestamp: z.base64().describe('the time-stamp token (RFC 3161), DER, base64') }),
} as const;

/** `signatures/timestamp` of version 1 (Cloud Signature Consortium API 1.0.4.0, clause 11.10). */
export const timestampV1 = cscOperation({ ...described, version: 'v1', run: timestamp });

/** `signatures/timestamp` of version 2 (2.0.0.2, clause 11.13). */
export const timestampV2 = cscOperation({ ...described, version: 'v2', run: timestamp });

async function timestamp(
  { hash: value, hashAlgo, nonce }: z.output<typeof TimestampRequest>,
  context: Context,
): Promise<{ timestamp: string }> {
  const hash = imprintHashOf(hashAlgo, context);
  if (hash === undefined) throw invalidRequest('Invalid parameter hashAlgo', 'UNSUPPORTED', '/hashAlgo');
  if (value.length !== imprintHashes[hash].bytes) throw invalidRequest('Invalid digest value length', 'FIELD_INVALID', '/hash');
  context.audit.digests.push(`${hash}:${Buffer.from(value).toString('hex')}`);
  const digits = nonce === undefined ? undefined : nonce.padStart(nonce.length + (nonce.length % 2), '0');
  const token = await context.levels.stampHash({ hash, value }, digits === undefined ? undefined : Buffer.from(digits, 'hex'));
  return { timestamp: Buffer.from(token.der).toString('base64') };
}

/** SHA-1 only where the configuration of the tenant allows it. */
function imprintHashOf(oid: string, { config, caller }: Pick<Context, 'config' | 'caller'>): ImprintHash | undefined {
  const allowSha1 = config.tenants[caller.tenant]?.allowSha1 ?? false;
  const names = Object.keys(imprintHashes) as readonly ImprintHash[];
  return names.find((name) => imprintHashes[name].oid === oid && (name !== 'sha1' || allowSha1));
}
