import { resolve } from 'node:path';
import { z } from 'zod';

const FilePath = z.string().min(1);
const Url = z.url({ protocol: /^https?$/ });

/** Time-stamp authorities used for signatures. */
export const TimeStampsConfig = z.strictObject({
  urls: z
    .array(Url)
    .default([])
    .describe("URLs of the authorities for URLSource SERVER, tried in this order. Empty: this service's own authority, if configured."),
  anchors: z
    .array(FilePath)
    .default([])
    .describe("PEM files with the roots to which tokens must chain. The root of this service's own authority is always trusted."),
});
export type TimeStampsConfig = z.output<typeof TimeStampsConfig>;

export function absoluteTimeStamps(config: TimeStampsConfig, base: string): TimeStampsConfig {
  return { ...config, anchors: config.anchors.map((file) => resolve(base, file)) };
}

const Oid = z.string().regex(/^[0-2](\.(0|[1-9]\d*))+$/, 'not a dotted object identifier');

/** Time-stamp authority of this service, at /tsa on the public listener. */
export const TimeStampAuthorityConfig = z.strictObject({
  certificate: FilePath.describe('PEM file with its certificate, whose only extended key usage is timeStamping, marked critical.'),
  chain: z.array(FilePath).min(1).describe('PEM files with the certificates above it, the root last.'),
  formerCertificates: z
    .array(FilePath)
    .default([])
    .describe(
      "PEM files with its previous certificates, for which its issuer's OCSP responder continues to answer, since tokens outlast certificates.",
    ),
  keyId: z
    .string()
    .regex(
      /^54[0-9a-f]{32}$/,
      'not the CKA_ID of a time-stamp authority, which begins with 54; one that begins with 53 comes from an earlier version and is changed by signetctl token purpose',
    )
    .describe('CKA_ID of its key on the token, hexadecimal.'),
  policy: Oid.describe('OID of the policy of its tokens.'),
  otherPolicies: z.array(Oid).default([]).describe('OIDs of further policies that a request may specify.'),
  hashes: z
    .array(z.enum(['sha256', 'sha384', 'sha512']))
    .min(1)
    .default(['sha256', 'sha384', 'sha512'])
    .describe('Accepted hashes of message imprints.'),
  accuracyMilliseconds: z.int().min(1).max(60_000).default(1000).describe('Accuracy of its time, stated in each token.'),
  ordering: z
    .boolean()
    .default(false)
    .describe('Each token of this instance has a later time than the previous one; at most a thousand per second.'),
  clockErrorMaxMilliseconds: z
    .number()
    .positive()
    .optional()
    .describe(
      "No tokens are issued if the machine's clock is not synchronised or its error, as reported by the kernel, may be larger. Default: not checked.",
    ),
});
export type TimeStampAuthorityConfig = z.output<typeof TimeStampAuthorityConfig>;

export function absoluteTimeStampAuthority(config: TimeStampAuthorityConfig, base: string): TimeStampAuthorityConfig {
  const absolute = (files: readonly string[]): string[] => files.map((file) => resolve(base, file));
  const { certificate, chain, formerCertificates } = config;
  return {
    ...config,
    certificate: resolve(base, certificate),
    chain: absolute(chain),
    formerCertificates: absolute(formerCertificates),
  };
}
