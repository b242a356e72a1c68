import { resolve } from 'node:path';
import { z } from 'zod';

const FilePath = z.string().min(1);

/** CA identifier of 2D-Doc (ANTS, 2D-Doc v3.2.6, §3.3): country and two characters. */
export const CaIdentifier = z.string().regex(/^[A-Z]{2}[A-Z0-9]{2}$/, 'not the identifier of a 2D-Doc CA such as FR03');
/** Certificate identifier of 2D-Doc (§3.3). */
export const CertificateIdentifier = z
  .string()
  .regex(/^[A-Z0-9]{4}$/, 'not the identifier of a certificate: four characters from A to Z and 0 to 9');
/** Code of a document type of 2D-Doc (§8). */
export const DocumentTypeCode = z.string().regex(/^[A-Z0-9]{2}$/, 'not the code of a document type such as 01');

const DigitalIdentity = z.strictObject({
  ca: CaIdentifier.describe("Identifier of the CA that issued the certificate, such as FR03: the common name of the certificate's issuer."),
  certificateId: CertificateIdentifier.describe('Identifier of the certificate, four characters: the common name of its subject.'),
  certificate: FilePath.describe('PEM file with the certificate.'),
  types: z
    .array(DocumentTypeCode)
    .min(1)
    .max(256)
    .refine((types) => new Set(types).size === types.length, 'duplicate type')
    .optional()
    .describe('Codes of the document types that the identity may sign. Default: those that its certificate allows.'),
});
export type DigitalIdentityConfig = z.output<typeof DigitalIdentity>;

/** CA of tests, and the certificate identifier of tests under any CA. */
const testCa = 'FR00';
const testCertificate = '0000';

/** Whether the identifiers are those of tests, which verifiers of real documents reject. */
export function areTestIdentifiers({ ca, certificateId }: { readonly ca: string; readonly certificateId: string }): boolean {
  return ca === testCa || certificateId === testCertificate;
}

/** 2D-Doc of one tenant: its digital identities, and how its pictures are made. */
export const TwoDDocConfig = z
  .strictObject({
    identities: z
      .array(DigitalIdentity)
      .max(256)
      .default([])
      .describe(
        'Digital identities of the tenant: certificates whose keys on the token sign 2D-Doc codes. signetctl twoddoc makes the keys.',
      ),
    modulePixels: z.int().min(3).max(32).default(5).describe('Side of one module of the symbol, in pixels.'),
    dpi: z.int().min(72).max(2400).default(300).describe('Resolution that the pictures state, in dots per inch.'),
    quietZoneModules: z.int().min(1).max(16).default(1).describe('Width of the quiet zone around the symbol, in modules.'),
    encodation: z
      .enum(['C40', 'MIXED'])
      .default('C40')
      .describe('Encodation of the symbol. C40: as the specification of 2D-Doc has it. MIXED: any that gives the smallest symbol.'),
    allowTestIdentifiers: z
      .boolean()
      .default(false)
      .describe('Accepts identities with the identifiers of tests: the CA FR00, and the certificate 0000. Never in production.'),
  })
  .check(({ value: { identities, allowTestIdentifiers }, issues }) => {
    const names = new Set<string>();
    for (const [index, identity] of identities.entries()) {
      const name = `${identity.ca} ${identity.certificateId}`;
      const at = (message: string): number => issues.push({ code: 'custom', input: identity, path: ['identities', index], message });
      if (names.has(name)) at(`the identity ${name} is configured twice`);
      names.add(name);
      if (!allowTestIdentifiers && areTestIdentifiers(identity))
        at(`${name} has the identifiers of tests, which are refused unless allowTestIdentifiers is true`);
    }
  });
export type TwoDDocConfig = z.output<typeof TwoDDocConfig>;

/** Makes the paths absolute. */
export function absoluteTwoDDoc(config: TwoDDocConfig, base: string): TwoDDocConfig {
  return {
    ...config,
    identities: config.identities.map((identity) => ({ ...identity, certificate: resolve(base, identity.certificate) })),
  };
}
