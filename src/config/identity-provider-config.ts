import { resolve } from 'node:path';
import { z } from 'zod';
import { absoluteReference, SecretReference } from './secret-reference.ts';

const FilePath = z.string().min(1);

/** Asymmetric signature algorithms (RFC 7518 §3.1, RFC 8037, RFC 9864). */
const tokenAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const;

/**
 * `{name}` is a claim, `{/address/country}` a nested one by its JSON Pointer (RFC 6901); text
 * outside braces is literal.
 */
const Template = z
  .string()
  .max(1024)
  .regex(/^(?:[^{}]|\{[^{}]+\})+$/, 'not a text with claims in braces, such as {given_name} {family_name}')
  .refine(
    (text) => [...text.matchAll(/\{([^{}]+)\}/g)].every(([, name = '']) => !/~(?![01])/.test(name)),
    '~ must be written as ~0, / as ~1',
  );

/** The first template whose claims are all present is used; an empty list omits the field. */
const sourcesOf = (...templates: readonly string[]) =>
  z
    .array(Template)
    .max(8)
    .default([...templates]);
const Sources = sourcesOf();

/** Mapping of claims to the fields of the API's PKCS10. */
export const ClaimMapping = z.strictObject({
  subject: z
    .strictObject({
      country: sourcesOf('{/address/country}').describe('Claims that become countryName. Default: defaultCountry of the profile.'),
      commonName: sourcesOf('{name}', '{given_name} {family_name}').describe('Claims that become commonName.'),
      givenName: sourcesOf('{given_name}').describe('Claims that become givenName.'),
      surName: sourcesOf('{family_name}').describe('Claims that become surname.'),
      serialNumber: sourcesOf('{sub}').describe('Claims that become serialNumber.'),
      title: Sources.describe('Claims that become title.'),
      organizationName: Sources.describe('Claims that become organizationName.'),
      organizationIdentifier: Sources.describe('Claims that become organizationIdentifier.'),
      phoneNumber: Sources.describe('Claims that become telephoneNumber.'),
      localityName: Sources.describe('Claims that become localityName.'),
      stateName: Sources.describe('Claims that become stateOrProvinceName.'),
      DNQualifier: Sources.describe('Claims that become dnQualifier.'),
      organizationUnit: Sources.describe('Claims that become organizationalUnitName; a list gives one unit for each entry.'),
    })
    .prefault({}),
  nameFields: z
    .record(z.string().min(1).max(128), z.array(Template).min(1).max(8))
    .default({})
    .describe('Further attributes, by RFC 4519 short name or OID.'),
  subscriber: z
    .strictObject({
      emailAddress: sourcesOf('{email}').describe('Claims that become the e-mail address of the subscriber.'),
      phoneNumber: sourcesOf('{phone_number}').describe('Claims that become the telephone number of the subscriber.'),
    })
    .prefault({}),
  subjectAlternativeName: z
    .strictObject({ RFC822Name: sourcesOf('{email}').describe('Claims that become the e-mail address in subjectAltName.') })
    .prefault({}),
});
export type ClaimMapping = z.output<typeof ClaimMapping>;

const KeysInFile = z.strictObject({
  file: FilePath.describe('File with a JSON Web Key Set (RFC 7517); it is read again when it changes.'),
});

const KeysAtUrl = z.strictObject({
  url: z
    .url({ protocol: /^https$/ })
    .refine((url) => new URL(url).username === '' && new URL(url).password === '', 'the URL must not contain a user name or password')
    .describe("URL of the provider's JSON Web Key Set. Redirects are not followed."),
  certificateAuthority: FilePath.optional().describe(
    "PEM file with the authorities trusted to issue the provider's certificate. Default: those that Node trusts.",
  ),
  freshSeconds: z
    .number()
    .positive()
    .max(86_400)
    .default(600)
    .describe('Age in seconds at which keys are fetched again; the old ones remain in use meanwhile.'),
  keptSeconds: z
    .number()
    .positive()
    .max(2_592_000)
    .default(86_400)
    .describe('Seconds for which keys remain in use if the provider cannot be reached.'),
  cooldownSeconds: z.number().min(1).max(3600).default(30).describe('Minimum seconds between two fetches caused by an unknown key.'),
  timeoutSeconds: z.number().positive().max(60).default(5).describe('Maximum duration of a fetch in seconds.'),
  maxBytes: z
    .int()
    .min(256)
    .max(1024 * 1024)
    .default(64 * 1024)
    .describe('Maximum size of a key set in bytes; a larger one is rejected.'),
});

/** Issuer of tokens from which createCertificate takes a subject. */
export const IdentityProvider = z.strictObject({
  issuer: z.string().min(1).max(1024).describe('`iss` of its tokens; must match exactly.'),
  audience: z.array(z.string().min(1).max(1024)).min(1).max(16).describe('Accepted values of `aud`; a token must contain one of them.'),
  keys: z.union([KeysInFile, KeysAtUrl]).describe('Public keys that verify its tokens.'),
  algorithms: z
    .array(z.enum(tokenAlgorithms))
    .min(1)
    .default([...tokenAlgorithms])
    .describe('Accepted signature algorithms, all asymmetric.'),
  clockToleranceSeconds: z.number().min(0).max(600).default(30).describe('Tolerance in seconds for `exp`, `nbf` and `iat`.'),
  maxAgeSeconds: z.number().positive().optional().describe('Maximum age of a token in seconds since `iat`, which is then required.'),
  type: z.string().min(1).max(128).optional().describe('Required `typ` of its tokens, such as JWT.'),
  oneTime: z
    .boolean()
    .default(false)
    .describe('Each token may be used for one certificate only: `jti` is required, and kept until the token expires.'),
  decryptionKeys: z
    .array(SecretReference)
    .max(4)
    .default([])
    .describe(
      'Private keys in PEM (RSA, P-256, P-384, P-521, X25519) to decrypt encrypted tokens, each as file:<path> or credential:<name>.',
    ),
  passwordIterationsMax: z
    .int()
    .min(0)
    .max(10_000_000)
    .default(100_000)
    .describe('Maximum `p2c` of a password-encrypted token; 0: such tokens are not accepted.'),
  claims: ClaimMapping.prefault({}),
});
export type IdentityProvider = z.output<typeof IdentityProvider>;

/** Makes the paths absolute. */
export function absoluteIdentityProvider(provider: IdentityProvider, base: string): IdentityProvider {
  const { keys, decryptionKeys } = provider;
  const absoluteKeys =
    'file' in keys
      ? { file: resolve(base, keys.file) }
      : { ...keys, ...(keys.certificateAuthority === undefined ? {} : { certificateAuthority: resolve(base, keys.certificateAuthority) }) };
  return { ...provider, keys: absoluteKeys, decryptionKeys: decryptionKeys.map((reference) => absoluteReference(reference, base)) };
}

/** Returns faults in the references from tenants to identity providers, one line each. */
export function identityProviderFaults(
  providers: Readonly<Record<string, IdentityProvider>>,
  tenants: Readonly<Record<string, { readonly identityProviders: readonly string[] }>>,
): string[] {
  return Object.entries(tenants).flatMap(([tenant, { identityProviders: names }]) => {
    const at = `tenants.${tenant}.identityProviders`;
    const unknown = names.filter((name) => providers[name] === undefined);
    const issuers = names.map((name) => providers[name]?.issuer);
    const duplicates = names.filter((name, index) => issuers.indexOf(providers[name]?.issuer) !== index);
    return [
      ...unknown.map((name) => `${at}: no identity provider "${name}" is configured`),
      ...duplicates.filter((name) => !unknown.includes(name)).map((name) => `${at}: "${name}" has the same issuer as another provider`),
    ];
  });
}
