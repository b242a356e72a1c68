import { createHash, type X509Certificate } from 'node:crypto';
import * as der from '../asn1/der.ts';
import { children, DerError, readAll } from '../asn1/reader.ts';
import type { IssuingChainRow } from '../state/tables/certificates.ts';
import type { CertificateIssuer } from './issue.ts';
import { hasSameKey, isIssuedBy } from '../x509/issued-by.ts';
import { isSelfSigned, pathCertificate } from '../x509/path/path-certificate.ts';
import { readCertificate } from '../x509/certificate.ts';

/** Limits on chains; only cycles of cross-certificates would exceed them. */
const maxLength = 8;
const maxChains = 32;

/**
 * Returns every chain upwards from an authority, built from all known certificates of it and of the
 * authorities above it, renewals and cross-certificates included. Each chain begins with a
 * certificate of the authority itself and ends with a self-signed certificate, or where no issuer
 * is known. The signatures of certificates from an untrusted source are verified ahead
 * (`possiblePairs`).
 */
export function chainsOf(own: X509Certificate, known: readonly X509Certificate[]): Uint8Array[][] {
  const isOwn = (one: X509Certificate): boolean => one.subject === own.subject && hasSameKey(one, own);
  const starts = [own, ...known.filter((one) => isOwn(one) && !one.raw.equals(own.raw))];
  const chains: X509Certificate[][] = [];
  // Once for each certificate, however many chains contain it: the certificates may be hostile.
  const issuersOf = new Map<X509Certificate, readonly X509Certificate[]>();
  const possible = (one: X509Certificate): readonly X509Certificate[] => {
    const found = issuersOf.get(one) ?? (isIssuedBy(one, one) ? [] : known.filter((issuer) => isIssuedBy(one, issuer)));
    issuersOf.set(one, found);
    return found;
  };
  const grow = (chain: readonly X509Certificate[], last: X509Certificate): void => {
    if (chains.length >= maxChains) return;
    const issuers = possible(last).filter((one) => !chain.some((before) => hasSameKey(before, one)));
    if (issuers.length === 0 || chain.length === maxLength) {
      chains.push([...chain]);
      return;
    }
    for (const issuer of issuers) grow([...chain, issuer], issuer);
  };
  for (const start of starts) grow([start], start);
  return chains.map((chain) => chain.map(({ raw }) => new Uint8Array(raw)));
}

/**
 * Returns the issuers of a chain without a self-signed one at its end: a verifier either has the
 * root already or does not trust it.
 */
export function withoutRoot(issuers: readonly Uint8Array[]): readonly Uint8Array[] {
  const last = issuers.at(-1);
  return last !== undefined && isSelfSigned(pathCertificate(last)) ? issuers.slice(0, -1) : issuers;
}

/** Chain under which a certificate was issued. */
export interface IssuingChain {
  /** In DER, the issuer first. */
  readonly certificates: readonly Uint8Array[];
  /** Public key of the issuer. */
  readonly subjectPublicKeyInfo: Uint8Array;
}

/** Returns the chain of an authority in the form stored with the certificates it issues. */
export function issuingChainRow({ chain }: Pick<CertificateIssuer, 'chain'>): IssuingChainRow {
  const bytes = der.sequence(...chain);
  return { id: createHash('sha256').update(bytes).digest('hex'), der: bytes };
}

/** Reads what `issuingChainRow` wrote. @throws {DerError} for anything else */
export function parseIssuingChain(bytes: Uint8Array): IssuingChain {
  const certificates = children(readAll(bytes)).map(({ raw }) => new Uint8Array(raw));
  const [issuer] = certificates;
  if (issuer === undefined) throw new DerError('a chain without a certificate', 0);
  return { certificates, subjectPublicKeyInfo: readCertificate(issuer).subjectPublicKeyInfo };
}

/**
 * Returns the chain above a certificate. Candidates, in order: the current chains of its authority,
 * if that still has the key which issued the certificate (the configured chain first), then the
 * chain under which the certificate was issued, which stays correct when the authority has a new
 * key or is no longer configured. The first candidate that contains the certificate with
 * fingerprint `sha1` (hexadecimal) wins; if none does, the first. Empty if no chain is known.
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
