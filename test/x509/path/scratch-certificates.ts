import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { signedCertificate } from '../../../src/certificates/signed-certificate.ts';
import { basicConstraints, keyUsage, type Extension } from '../../../src/certificates/standard-extensions.ts';
import { subjectName } from '../../../src/certificates/subject.ts';
import { pathCertificate, type PathCertificate } from '../../../src/x509/path/path-certificate.ts';

/** Who has a certificate: a name and a key. */
export interface Entity {
  readonly name: Uint8Array;
  readonly privateKey: KeyObject;
  readonly subjectPublicKeyInfo: Uint8Array;
}

/** A time at which the certificates are valid. */
export const at = new Date('2026-06-01T00:00:00Z');
export const lifetime = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };

/** Extensions of a CA certificate. */
export const authority: readonly Extension[] = [basicConstraints(), keyUsage(['keyCertSign', 'cRLSign'])];

export function entity(commonName: string, namedCurve = 'P-256'): Entity {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
  return {
    name: subjectName({ country: 'FR', commonName }),
    privateKey,
    subjectPublicKeyInfo: publicKey.export({ type: 'spki', format: 'der' }),
  };
}

export async function certified(
  { name: subject, subjectPublicKeyInfo }: Entity,
  issuer: Entity,
  extensions: readonly Extension[],
  validity = lifetime,
): Promise<PathCertificate> {
  const signer = {
    ...{ name: issuer.name, subjectPublicKeyInfo: issuer.subjectPublicKeyInfo, signatureAlgorithm: 'ecdsaWithSHA256' as const },
    sign: async (tbs: Uint8Array) => Promise.resolve(sign('sha256', tbs, issuer.privateKey)),
  };
  const content = { subject, subjectPublicKeyInfo, extensions: extensions.map((one) => one.der), serialNumber: randomBytes(16) };
  return pathCertificate(await signedCertificate(signer, { ...content, ...validity }));
}
