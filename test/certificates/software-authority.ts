import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { createIssuingCa, createRoot } from '../../src/certificates/authority.ts';
import type { CertificateIssuer } from '../../src/certificates/issue.ts';
import type { CertificateSignatureAlgorithm } from '../../src/certificates/signed-certificate.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { readCertificate } from '../../src/x509/certificate.ts';

export const softwareKeyTypes = ['RSA-2048', 'P-256', 'P-384'] as const;
export type SoftwareKeyType = (typeof softwareKeyTypes)[number];

export interface SoftwareKey {
  readonly type: SoftwareKeyType;
  readonly privateKey: KeyObject;
  readonly subjectPublicKeyInfo: Uint8Array;
}

export function softwareKey(type: SoftwareKeyType): SoftwareKey {
  const { privateKey, publicKey } =
    type === 'RSA-2048' ? generateKeyPairSync('rsa', { modulusLength: 2048 }) : generateKeyPairSync('ec', { namedCurve: type });
  return { type, privateKey, subjectPublicKeyInfo: publicKey.export({ format: 'der', type: 'spki' }) };
}

const algorithmOf = {
  'RSA-2048': 'sha256WithRSAEncryption',
  'P-256': 'ecdsaWithSHA256',
  'P-384': 'ecdsaWithSHA384',
} as const satisfies Record<SoftwareKeyType, CertificateSignatureAlgorithm>;

export function signing({ type, privateKey }: SoftwareKey): Pick<CertificateIssuer, 'signatureAlgorithm' | 'sign'> {
  const hash = type === 'P-384' ? 'sha384' : 'sha256';
  return { signatureAlgorithm: algorithmOf[type], sign: async (tbs) => Promise.resolve(sign(hash, tbs, privateKey)) };
}

export interface SoftwareAuthority {
  readonly root: Uint8Array;
  readonly issuer: CertificateIssuer;
}

/** A root and an issuing authority under it, with keys of one type in memory. */
export async function softwareAuthority(type: SoftwareKeyType): Promise<SoftwareAuthority> {
  const notBefore = new Date(Date.now() - 60_000);
  const lifetime = (years: number) => ({
    notBefore,
    notAfter: new Date(notBefore.getTime() + years * 365 * 86_400_000),
    serialNumber: randomBytes(16),
  });
  const name = (commonName: string) => subjectName({ country: 'FR', organizationName: 'Example', commonName });
  const rootKey = softwareKey(type);
  const root = await createRoot({
    ...lifetime(20),
    ...signing(rootKey),
    name: name('Example Root'),
    crl: ['http://pki.example.test/root.crl'],
    subjectPublicKeyInfo: rootKey.subjectPublicKeyInfo,
  });
  const rootIssuer = { ...signing(rootKey), certificate: readCertificate(root), chain: [root] };
  const key = softwareKey(type);
  const issuing = await createIssuingCa(rootIssuer, {
    ...lifetime(10),
    name: name('Example Issuing CA'),
    subjectPublicKeyInfo: key.subjectPublicKeyInfo,
    urls: { crl: ['http://pki.example.test/root.crl'], caIssuers: ['http://pki.example.test/root.cer'] },
  });
  return { root, issuer: { ...signing(key), certificate: readCertificate(issuing), chain: [issuing, root] } };
}
