import type { KeyType } from '../config/key-types.ts';
import type { PublicationUrls } from '../config/profile.ts';
import type { KeyId } from '../token/key-id.ts';
import type { Token } from '../token/token.ts';
import { createIssuingCa, createRoot } from './authority.ts';
import { tokenIssuer, tokenSigner } from './configured-authority.ts';
import type { CertificateIssuer } from './issue.ts';

const serialNumberBytes = 16;

/** Key types that an authority may have. */
export const authorityKeyTypes = ['RSA-3072', 'RSA-4096', 'P-256', 'P-384'] as const satisfies readonly KeyType[];
export type AuthorityKeyType = (typeof authorityKeyTypes)[number];

interface NewAuthority {
  /** Already recorded; the key is created with it. */
  readonly keyId: KeyId;
  readonly keyType: AuthorityKeyType;
  /** DER of the Name. */
  readonly name: Uint8Array;
  readonly years: number;
  /** URLs at which its issuer (itself, for a root) publishes. */
  readonly urls?: PublicationUrls;
}

/** Creates a root on the token: key and self-signed certificate. */
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

/** Creates an authority under `root` with its key on the token. It issues to end entities only. */
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

/**
 * Issues a new certificate for an existing authority: a renewal by its root (same name and key), or
 * a cross-certificate by another.
 */
export async function certifyAuthority(
  token: Token,
  by: CertificateIssuer,
  authority: CertificateIssuer,
  { years, urls = {}, notAfterMax }: { readonly years: number; readonly urls?: PublicationUrls; readonly notAfterMax?: Date },
): Promise<Uint8Array> {
  const { subject: name, subjectPublicKeyInfo, issuer } = authority.certificate;
  const serialNumber = await token.random(serialNumberBytes);
  const isSelf = Buffer.compare(subjectPublicKeyInfo, by.certificate.subjectPublicKeyInfo) === 0;
  if (isSelf) return createRoot({ ...by, crl: urls.crl ?? [], name, subjectPublicKeyInfo, ...lifetime(years), serialNumber });
  const isRoot = Buffer.compare(name, issuer) === 0;
  const { notBefore, notAfter } = lifetimeUnder(by, years);
  return createIssuingCa(by, {
    name,
    subjectPublicKeyInfo,
    urls,
    notBefore,
    notAfter: notAfterMax !== undefined && notAfterMax < notAfter ? notAfterMax : notAfter,
    serialNumber,
    ...(isRoot ? { above: 1 } : {}),
  });
}

interface Lifetime {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Returns a lifetime that begins at the last full second. */
function lifetime(years: number): Lifetime {
  const notBefore = new Date(Math.floor(Date.now() / 1000) * 1000);
  const notAfter = new Date(notBefore);
  notAfter.setUTCFullYear(notBefore.getUTCFullYear() + years);
  return { notBefore, notAfter };
}

/** Does the same, limited by the issuer's notAfter. */
export function lifetimeUnder({ certificate }: Pick<CertificateIssuer, 'certificate'>, years: number): Lifetime {
  const { notBefore, notAfter } = lifetime(years);
  return { notBefore, notAfter: notAfter < certificate.notAfter ? notAfter : certificate.notAfter };
}
