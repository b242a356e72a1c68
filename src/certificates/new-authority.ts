import type { KeyType, PublicationUrls } from '../config/profile.ts';
import type { KeyId } from '../token/key-id.ts';
import type { Token } from '../token/token.ts';
import { createIssuingCa, createRoot } from './authority.ts';
import { tokenIssuer, tokenSigner } from './configured-authority.ts';
import type { CertificateIssuer } from './issue.ts';

const serialNumberBytes = 16;

/** Types of key that an authority signs with here. */
export const authorityKeyTypes = ['RSA-3072', 'RSA-4096', 'P-256', 'P-384'] as const satisfies readonly KeyType[];
export type AuthorityKeyType = (typeof authorityKeyTypes)[number];

interface NewAuthority {
  /** Announced already; the key is made under it. */
  readonly keyId: KeyId;
  readonly keyType: AuthorityKeyType;
  /** DER of the Name. */
  readonly name: Uint8Array;
  readonly years: number;
  /** Where its issuer publishes; a root is its own. */
  readonly urls?: PublicationUrls;
}

/** Makes a root whose key is on the token: key and self-signed certificate. */
export async function newRoot(token: Token, { keyId, keyType, name, years, urls = {} }: NewAuthority): Promise<CertificateIssuer> {
  const subjectPublicKeyInfo = await token.createKey(keyId, keyType);
  const certificate = await createRoot({
    ...tokenSigner(token, keyId, subjectPublicKeyInfo),
    ...{ name, subjectPublicKeyInfo, crl: urls.crl ?? [] },
    ...lifetime(years),
    serialNumber: await token.random(serialNumberBytes),
  });
  return tokenIssuer(token, keyId, certificate, [certificate]);
}

/** Makes an authority under `root` that issues to end entities only, its key on the token. */
export async function newIssuingAuthority(
  token: Token,
  root: CertificateIssuer,
  { keyId, keyType, name, years, urls = {} }: NewAuthority,
): Promise<CertificateIssuer> {
  const subjectPublicKeyInfo = await token.createKey(keyId, keyType);
  const certificate = await createIssuingCa(root, {
    ...{ name, subjectPublicKeyInfo, urls },
    ...lifetimeUnder(root, years),
    serialNumber: await token.random(serialNumberBytes),
  });
  return tokenIssuer(token, keyId, certificate, [certificate, ...root.chain]);
}

/** A new certificate for an authority that exists, by its root (a renewal: same name and key) or by another (a cross-certificate). */
export async function certifyAuthority(
  token: Token,
  by: CertificateIssuer,
  authority: CertificateIssuer,
  { years, urls = {} }: { readonly years: number; readonly urls?: PublicationUrls },
): Promise<Uint8Array> {
  const { subject: name, subjectPublicKeyInfo, issuer } = authority.certificate;
  const serialNumber = await token.random(serialNumberBytes);
  const isSelf = Buffer.compare(subjectPublicKeyInfo, by.certificate.subjectPublicKeyInfo) === 0;
  if (isSelf) return createRoot({ ...by, crl: urls.crl ?? [], name, subjectPublicKeyInfo, ...lifetime(years), serialNumber });
  const isRoot = Buffer.compare(name, issuer) === 0;
  return createIssuingCa(by, {
    name,
    subjectPublicKeyInfo,
    urls,
    ...lifetimeUnder(by, years),
    serialNumber,
    ...(isRoot ? { above: 1 } : {}),
  });
}

interface Lifetime {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** From the last full second on. */
function lifetime(years: number): Lifetime {
  const notBefore = new Date(Math.floor(Date.now() / 1000) * 1000);
  const notAfter = new Date(notBefore);
  notAfter.setUTCFullYear(notBefore.getUTCFullYear() + years);
  return { notBefore, notAfter };
}

/** The same, and no longer than the issuer. */
export function lifetimeUnder({ certificate }: Pick<CertificateIssuer, 'certificate'>, years: number): Lifetime {
  const { notBefore, notAfter } = lifetime(years);
  return { notBefore, notAfter: notAfter < certificate.notAfter ? notAfter : certificate.notAfter };
}
