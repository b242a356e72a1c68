import { resolve } from 'node:path';
import { z } from 'zod';

const FilePath = z.string().min(1);
const Url = z.url({ protocol: /^https?$/ });

/** Time-stamp authorities that signatures ask. */
export const TimeStampsConfig = z.strictObject({
  urls: z
    .array(Url)
    .default([])
    .describe('Authorities that URLSource SERVER means, tried in their order. Empty: the own one, where it is configured.'),
  anchors: z
    .array(FilePath)
    .default([])
    .describe('PEM files of the roots that tokens must chain to. The root of the own authority always counts.'),
});
export type TimeStampsConfig = z.output<typeof TimeStampsConfig>;

export function absoluteTimeStamps(config: TimeStampsConfig, base: string): TimeStampsConfig {
  return { ...config, anchors: config.anchors.map((file) => resolve(base, file)) };
}

const Oid = z.string().regex(/^[0-2](\.(0|[1-9]\d*))+$/, 'a dotted object identifier');

/** The own time-stamp authority, at /tsa of the public listener. */
export const TimeStampAuthorityConfig = z.strictObject({
  certificate: FilePath.describe('PEM file; its one purpose is time-stamping, marked critical.'),
  chain: z.array(FilePath).min(1).describe('The certificates above it, the root last.'),
  formerCertificates: z
    .array(FilePath)
    .default([])
    .describe(
      'Certificates that it had before: the OCSP responder of its issuer goes on answering for them, for tokens outlive certificates.',
    ),
  keyId: z
    .string()
    .regex(
      /^54[0-9a-f]{32}$/,
      'the CKA_ID of a time-stamp authority, which begins with 54; one that begins with 53 is of an earlier version: signetctl token purpose changes it',
    )
    .describe('CKA_ID of its key on the token, hexadecimal.'),
  policy: Oid.describe('Policy of its tokens.'),
  otherPolicies: z.array(Oid).default([]).describe('Further policies that a request may ask for.'),
  hashes: z
    .array(z.enum(['sha256', 'sha384', 'sha512']))
    .min(1)
    .default(['sha256', 'sha384', 'sha512'])
    .describe('Hashes of message imprints.'),
  accuracyMilliseconds: z.int().min(1).max(60_000).default(1000).describe('How far its time may be off; stands in each token.'),
  ordering: z
    .boolean()
    .default(false)
    .describe('Each token of this instance has a later time than the one before it: at most a thousand a second.'),
  clockErrorMaxMilliseconds: z
    .number()
    .positive()
    .optional()
    .describe(
      'It stops where nothing synchronises the clock of the machine, or the kernel says that it may be further off. Absent: nobody asks.',
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
