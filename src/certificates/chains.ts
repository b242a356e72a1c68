import { createHash, type X509Certificate } from 'node:crypto';
import * as der from '../asn1/der.ts';
import { children, DerError, readAll } from '../asn1/reader.ts';
import type { IssuingChainRow } from '../state/tables/certificates.ts';
import type { CertificateIssuer } from './issue.ts';
import { certificateVerifies } from '../x509/issued-by.ts';
import { isSelfSigned, pathCertificate } from '../x509/path/path-certificate.ts';
import { readCertificate } from '../x509/certificate.ts';

/** Longer chains, and more of them, are of nobody's making but a circle's. */
const maxLength = 8;
const maxChains = 32;

/**
 * Every chain upwards from an authority, over all certificates that are known of it and of those above it: renewals and cross-certificates. Each begins
 * with a certificate of the authority itself and ends with a self-signed one, or where no issuer is known. `verificationsMax`: signatures that are
 * verified, where the certificates are a stranger's; what would take more is left out.
 */
export function chainsOf(own: X509Certificate, known: readonly X509Certificate[], verificationsMax = Infinity): Uint8Array[][] {
  const isOwn = (one: X509Certificate): boolean => one.subject === own.subject && one.publicKey.equals(own.publicKey);
  const starts = [own, ...known.filter((one) => isOwn(one) && !one.raw.equals(own.raw))];
  const chains: X509Certificate[][] = [];
  let verifications = 0;
  const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean => {
    if (!certificate.checkIssued(issuer)) return false;
    verifications += 1;
    return verifications <= verificationsMax && certificateVerifies(certificate.raw, issuer.publicKey);
  };
  // Once for each certificate, however many chains it is in: who made the certificates may be anybody.
  const issuersOf = new Map<X509Certificate, readonly X509Certificate[]>();
  const possible = (one: X509Certificate): readonly X509Certificate[] => {
    const found = issuersOf.get(one) ?? (isIssuedBy(one, one) ? [] : known.filter((issuer) => isIssuedBy(one, issuer)));
    issuersOf.set(one, found);
    return found;
  };
  const grow = (chain: readonly X509Certificate[], last: X509Certificate): void => {
    if (chains.length >= maxChains) return;
    const issuers = possible(last).filter((one) => !chain.some((before) => before.publicKey.equals(one.publicKey)));
    if (issuers.length === 0 || chain.length === maxLength) {
      chains.push([...chain]);
      return;
    }
    for (const issuer of issuers) grow([...chain, issuer], issuer);
  };
  for (const start of starts) grow([start], start);
  return chains.map((chain) => chain.map(({ raw }) => new Uint8Array(raw)));
}

/** The issuers of a chain without the self-signed one at its end: who verifies a signature has that, or does not trust it. */
export function withoutRoot(issuers: readonly Uint8Array[]): readonly Uint8Array[] {
  const last = issuers.at(-1);
  return last !== undefined && isSelfSigned(pathCertificate(last)) ? issuers.slice(0, -1) : issuers;
}

/** What a certificate was issued under. */
export interface IssuingChain {
  /** DER, the issuer first. */
  readonly certificates: readonly Uint8Array[];
  /** The issuer's. */
  readonly subjectPublicKeyInfo: Uint8Array;
}

/** The chain of an authority as it is kept with what it issues. */
export function issuingChainRow({ chain }: Pick<CertificateIssuer, 'chain'>): IssuingChainRow {
  const bytes = der.sequence(...chain);
  return { id: createHash('sha256').update(bytes).digest('hex'), der: bytes };
}

/** @throws {DerError} for what `issuingChainRow` has not made */
export function parseIssuingChain(bytes: Uint8Array): IssuingChain {
  const certificates = children(readAll(bytes)).map(({ raw }) => new Uint8Array(raw));
  const [issuer] = certificates;
  if (issuer === undefined) throw new DerError('a chain has a certificate', 0);
  return { certificates, subjectPublicKeyInfo: readCertificate(issuer).subjectPublicKeyInfo };
}

/**
 * The chain above a certificate: of the chains that its authority has now those of the very key that issued it, the configured one first; then the one
 * that it was issued under, which stays right when the authority has another key, or is not configured any more. Among them the one that `trustedCA`
 * asks for; the first where none has it. `sha1`: of a certificate, hexadecimal. Empty where nothing is known.
 */
export function chainFor(
  issued: IssuingChain | undefined,
  authority: Pick<CertificateIssuer, 'certificate' | 'chain' | 'otherChains'> | undefined,
  sha1: string | undefined,
): readonly Uint8Array[] {
  const isIssuer =
    authority !== undefined &&
    (issued === undefined || Buffer.compare(authority.certificate.subjectPublicKeyInfo, issued.subjectPublicKeyInfo) === 0);
  const chains = [
    ...(isIssuer ? [authority.chain, ...(authority.otherChains ?? [])] : []),
    ...(issued === undefined ? [] : [issued.certificates]),
  ];
  const [first = []] = chains;
  if (sha1 === undefined) return first;
  const wanted = sha1.toLowerCase();
  return chains.find((chain) => chain.some((one) => fingerprint(one) === wanted)) ?? first;
}

function fingerprint(certificate: Uint8Array): string {
  return createHash('sha1').update(certificate).digest('hex');
}
