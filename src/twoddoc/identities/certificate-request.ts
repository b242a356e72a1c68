import * as der from '../../asn1/der.ts';
import { ecdsaValueToDer } from '../../asn1/ecdsa-value.ts';
import { signedStructure } from '../../certificates/signed-certificate.ts';
import { subjectName } from '../../certificates/subject.ts';
import { SubjectFields } from '../../certificates/subject-fields.ts';
import type { Curve } from './digital-identity.ts';

/** What the subject of a 2D-Doc certificate contains (ANTS, 2D-Doc v3.2.6, §6). */
export interface IdentitySubject {
  /** ISO 3166-1, two letters. */
  readonly country: string;
  readonly organization: string;
  /** SIREN (9 digits) or SIRET (14 digits) of the organisation. */
  readonly registration: string;
  readonly certificateId: string;
}

/** ICD of the SIRENE register (ISO 6523). */
const sirene = '0002';
const signatureAlgorithms = { 'P-256': 'ecdsaWithSHA256', 'P-384': 'ecdsaWithSHA384', 'P-521': 'ecdsaWithSHA512' } as const;

/**
 * Returns the DER of the subject: C, O, OU with the ICD and the number, CN.
 * @throws {RangeError} naming the field that cannot be used
 */
export function identitySubject({ country, organization, registration, certificateId }: IdentitySubject): Uint8Array {
  const parsed = SubjectFields.safeParse({
    ...{ country, organizationName: organization, commonName: certificateId },
    organizationUnit: [`${sirene} ${registration}`],
  });
  if (parsed.success) return subjectName(parsed.data);
  const [issue] = parsed.error.issues;
  throw new RangeError(`${issue?.path.join('.') ?? 'the name'}: ${issue?.message ?? 'it cannot be used'}`);
}

/**
 * Returns the request (PKCS #10, RFC 2986) for the certificate of a digital identity, in DER. It
 * asks for no extensions, since the CA decides them.
 * @param sign returns r‖s for the CertificationRequestInfo
 * @throws {Error} if the signature does not verify
 */
export async function identityRequest(
  {
    subject,
    subjectPublicKeyInfo,
    curve,
  }: { readonly subject: Uint8Array; readonly subjectPublicKeyInfo: Uint8Array; readonly curve: Curve },
  sign: (info: Uint8Array) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const signer = {
    subjectPublicKeyInfo,
    signatureAlgorithm: signatureAlgorithms[curve],
    sign: async (info: Uint8Array) => ecdsaValueToDer(await sign(info)),
  };
  return signedStructure(signer, der.sequence(der.integer(0), subject, subjectPublicKeyInfo, der.implicitConstructed(0, new Uint8Array())));
}
