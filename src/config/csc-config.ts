import { z } from 'zod';

const nameMaxCharacters = 255;

/** What the Cloud Signature Consortium's `info` says about the service. */
export const CscConfig = z.strictObject({
  name: z.string().min(1).max(nameMaxCharacters).default('signetd').describe('Name of the service, as it is known to its users.'),
  description: z
    .string()
    .min(1)
    .max(nameMaxCharacters)
    .default('Signing service with keys on a PKCS#11 token')
    .describe('What the service is, in a sentence.'),
  region: z
    .string()
    .regex(/^[A-Z]{2}$/, 'not an ISO 3166-1 alpha-2 code')
    .default('FR')
    .describe('Country of the service, ISO 3166-1 alpha-2.'),
  logo: z
    .string()
    .regex(/^(?:https?|data):[\x21-\x7e]+$/, 'not an http, https or data URI')
    .optional()
    .describe('URI of its logo, JPEG or PNG. Default: a transparent picture of 1 by 1 pixel.'),
});

/** A name that is no reference of a key, so that the two are never confused. */
const CredentialName = z
  .string()
  .regex(/^(?![0-9a-fA-F]{40}$)[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'not a name of letters, digits, dots, hyphens and underscores');

/** The names under which the Cloud Signature Consortium's API shows keys of a tenant. */
export const CredentialNames = z
  .record(CredentialName, z.string().regex(/^[0-9a-fA-F]{40}$/, 'not the reference of a key: 40 hexadecimal digits'))
  .refine((names) => new Set(Object.values(names).map((reference) => reference.toLowerCase())).size === Object.keys(names).length, {
    message: 'a key has one name',
  });
