import { resolve } from 'node:path';
import { z } from 'zod';
import { absoluteReference, SecretReference } from './state-config.ts';

const FilePath = z.string().min(1);

/** Signatures that the holder of the public key cannot make (RFC 7518 §3.1, RFC 8037, RFC 9864). */
const tokenAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const;

/** `{name}` is a claim, `{/address/country}` one inside another by its JSON Pointer (RFC 6901); what stands outside of braces stands as it is. */
const Template = z
  .string()
  .max(1024)
  .regex(/^(?:[^{}]|\{[^{}]+\})+$/, 'text with claims in braces, such as {given_name} {family_name}')
  .refine((text) => [...text.matchAll(/\{([^{}]+)\}/g)].every(([, name = '']) => !/~(?![01])/.test(name)), '~ stands as ~0, / as ~1');

/** The first whose claims are all there counts; an empty list leaves the field out. */
const sourcesOf = (...templates: readonly string[]) =>
  z
    .array(Template)
    .max(8)
    .default([...templates]);
const Sources = sourcesOf();

/** What of a token becomes which field of the interface's PKCS10. */
export const ClaimMapping = z.strictObject({
  subject: z
    .strictObject({
      country: sourcesOf('{/address/country}').describe('Without one: defaultCountry of the profile.'),
      commonName: sourcesOf('{name}', '{given_name} {family_name}'),
      givenName: sourcesOf('{given_name}'),
      surName: sourcesOf('{family_name}'),
      serialNumber: sourcesOf('{sub}'),
      title: Sources,
      organizationName: Sources,
      organizationIdentifier: Sources,
      phoneNumber: Sources,
      localityName: Sources,
      stateName: Sources,
      DNQualifier: Sources,
      organizationUnit: Sources.describe('A claim that is a list gives as many units.'),
    })
    .prefault({}),
  nameFields: z
    .record(z.string().min(1).max(128), z.array(Template).min(1).max(8))
    .default({})
    .describe('Further attributes, by their short names of RFC 4519 or their OIDs.'),
  subscriber: z.strictObject({ emailAddress: sourcesOf('{email}'), phoneNumber: sourcesOf('{phone_number}') }).prefault({}),
  subjectAlternativeName: z.strictObject({ RFC822Name: sourcesOf('{email}') }).prefault({}),
});
export type ClaimMapping = z.output<typeof ClaimMapping>;

const KeysInFile = z.strictObject({ file: FilePath.describe('A JSON Web Key Set (RFC 7517); it is read again when it changes.') });

const KeysAtUrl = z.strictObject({
  url: z
    .url({ protocol: /^https$/ })
    .refine((url) => new URL(url).username === '' && new URL(url).password === '', 'a URL without a user name')
    .describe('Where the provider publishes its JSON Web Key Set. Redirects are not followed.'),
  certificateAuthority: FilePath.optional().describe(
    "PEM of the authorities that the provider's certificate is judged by; absent: those of Node.",
  ),
  freshSeconds: z
    .number()
    .positive()
    .max(86_400)
    .default(600)
    .describe('Keys that are older are fetched again, while the old ones still serve.'),
  keptSeconds: z.number().positive().max(2_592_000).default(86_400).describe('How long keys serve where the provider cannot be reached.'),
  cooldownSeconds: z.number().min(1).max(3600).default(30).describe('Between two fetches because of a key that is not known.'),
  timeoutSeconds: z.number().positive().max(60).default(5),
  maxBytes: z
    .int()
    .min(256)
    .max(1024 * 1024)
    .default(64 * 1024),
});

/** Who issues the tokens that createCertificate takes a subject from. */
export const IdentityProvider = z.strictObject({
  issuer: z.string().min(1).max(1024).describe('`iss` of its tokens, character by character.'),
  audience: z.array(z.string().min(1).max(1024)).min(1).max(16).describe('A token names one of them in `aud`.'),
  keys: z.union([KeysInFile, KeysAtUrl]).describe('The public keys that verify its tokens.'),
  algorithms: z
    .array(z.enum(tokenAlgorithms))
    .min(1)
    .default([...tokenAlgorithms])
    .describe('Signatures of its tokens; asymmetric ones alone.'),
  clockToleranceSeconds: z.number().min(0).max(600).default(30).describe('For `exp`, `nbf` and `iat`.'),
  maxAgeSeconds: z.number().positive().optional().describe('A token is refused so long after `iat`, which is required then.'),
  type: z.string().min(1).max(128).optional().describe('`typ` that its tokens must have, such as JWT.'),
  oneTime: z.boolean().default(false).describe('A token makes one certificate: `jti` is required, and kept until the token ends.'),
  decryptionKeys: z
    .array(SecretReference)
    .max(4)
    .default([])
    .describe('Private keys in PEM (RSA, P-256, P-384, P-521, X25519) that its encrypted tokens are for.'),
  passwordIterationsMax: z
    .int()
    .min(0)
    .max(10_000_000)
    .default(100_000)
    .describe('`p2c` of a token under a password; 0: no such token is taken.'),
  claims: ClaimMapping.prefault({}),
});
export type IdentityProvider = z.output<typeof IdentityProvider>;

/** The same with absolute paths. */
export function absoluteIdentityProvider(provider: IdentityProvider, base: string): IdentityProvider {
  const { keys, decryptionKeys } = provider;
  const absoluteKeys =
    'file' in keys
      ? { file: resolve(base, keys.file) }
      : { ...keys, ...(keys.certificateAuthority === undefined ? {} : { certificateAuthority: resolve(base, keys.certificateAuthority) }) };
  return { ...provider, keys: absoluteKeys, decryptionKeys: decryptionKeys.map((reference) => absoluteReference(reference, base)) };
}

/** What is wrong between tenants and identity providers: a line each. */
export function identityProviderFaults(
  providers: Readonly<Record<string, IdentityProvider>>,
  tenants: Readonly<Record<string, { readonly identityProviders: readonly string[] }>>,
): string[] {
  return Object.entries(tenants).flatMap(([tenant, { identityProviders: names }]) => {
    const at = `tenants.${tenant}.identityProviders`;
    const unknown = names.filter((name) => providers[name] === undefined);
    const issuers = names.map((name) => providers[name]?.issuer);
    const twice = names.filter((name, index) => issuers.indexOf(providers[name]?.issuer) !== index);
    return [
      ...unknown.map((name) => `${at}: no identity provider "${name}" is configured`),
      ...twice.filter((name) => !unknown.includes(name)).map((name) => `${at}: "${name}" has the issuer of another one`),
    ];
  });
}
