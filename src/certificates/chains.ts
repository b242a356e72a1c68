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
  const grow = (chain: readonly X509Certificate[], last: X509Certificate): void => {
    const issuers = isSelfIssued(last)
      ? []
      : known.filter(
          (one) => last.checkIssued(one) && last.verify(one.publicKey) && !chain.some((before) => before.publicKey.equals(one.publicKey)),
        );
    if (issuers.length === 0 || chain.length === maxLength) {
      if (chains.length < maxChains) chains.push([...chain]);
      return;
    }
    for (const issuer of issuers) grow([...chain, issuer], issuer);
  };
  for (const start of starts) grow([start], start);
  return chains.map((chain) => chain.map(({ raw }) => new Uint8Array(raw)));
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
