import { X509Certificate } from 'node:crypto';
import type { CertificateIssuer } from './issue.ts';

/** Longer chains, and more of them, are of nobody's making but a circle's. */
const maxLength = 8;
const maxChains = 32;

/**
 * Every chain upwards from an authority, over all certificates that are known of it and of those above it: renewals and cross-certificates. Each begins
 * with a certificate of the authority itself and ends with a self-signed one, or where no issuer is known.
 */
export function chainsOf(own: X509Certificate, known: readonly X509Certificate[]): Uint8Array[][] {
  const isOwn = (one: X509Certificate): boolean => one.subject === own.subject && one.publicKey.equals(own.publicKey);
  const starts = [own, ...known.filter((one) => isOwn(one) && !one.raw.equals(own.raw))];
  const chains: X509Certificate[][] = [];
  // Once for each certificate, however many chains it is in: who made the certificates may be anybody.
  const issuersOf = new Map<X509Certificate, readonly X509Certificate[]>();
  const possible = (one: X509Certificate): readonly X509Certificate[] => {
    const found = issuersOf.get(one) ?? (isSelfIssued(one) ? [] : known.filter((issuer) => isIssuedBy(one, issuer)));
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
  return last !== undefined && isSelfIssued(new X509Certificate(last)) ? issuers.slice(0, -1) : issuers;
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function isSelfIssued(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
}

/** The chain that `trustedCA` asks for, the configured one first; that one too where none has it. `sha1`: of a certificate, hexadecimal. */
export function chainFor({ chain, otherChains = [] }: CertificateIssuer, sha1: string | undefined): readonly Uint8Array[] {
  if (sha1 === undefined) return chain;
  const wanted = sha1.toLowerCase();
  const has = (one: readonly Uint8Array[]): boolean => one.some((der) => fingerprint(der) === wanted);
  return [chain, ...otherChains].find(has) ?? chain;
}

function fingerprint(der: Uint8Array): string {
  return new X509Certificate(der).fingerprint.replaceAll(':', '').toLowerCase();
}
