import { X509Certificate, randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { createIssuingCa } from '../../src/certificates/authority.ts';
import { chainFor, chainsOf, issuingChainRow, parseIssuingChain } from '../../src/certificates/chains.ts';
import type { CertificateIssuer } from '../../src/certificates/issue.ts';
import { readCertificate } from '../../src/x509/certificate.ts';
import { softwareAuthority, type SoftwareAuthority } from './software-authority.ts';

const sha1 = (der: Uint8Array): string => new X509Certificate(der).fingerprint.replaceAll(':', '');
const year = 365 * 86_400_000;

describe('the chains of an authority', () => {
  let a: SoftwareAuthority;
  let b: SoftwareAuthority;
  let own: Uint8Array;
  let crossOfOwn: Uint8Array;
  let crossOfRoot: Uint8Array;

  beforeAll(async () => {
    [a, b] = await Promise.all([softwareAuthority('P-256'), softwareAuthority('P-384')]);
    // Authority b's issuing key stands for another root.
    const certified = async (subject: Uint8Array): Promise<Uint8Array> => {
      const { subject: name, subjectPublicKeyInfo } = readCertificate(subject);
      const notBefore = new Date();
      const times = { notBefore, notAfter: new Date(notBefore.getTime() + year), serialNumber: randomBytes(16) };
      return createIssuingCa(b.issuer, { name, subjectPublicKeyInfo, ...times, above: 1 });
    };
    own = a.issuer.certificate.der;
    crossOfOwn = await certified(own);
    crossOfRoot = await certified(a.root);
  });

  const chains = (...known: Uint8Array[]): string[][] =>
    chainsOf(
      new X509Certificate(own),
      known.map((der) => new X509Certificate(der)),
    ).map((chain) => chain.map(sha1));

  it('are a single one without cross-certificates', () => {
    expect(chains(own, a.root)).toEqual([[own, a.root].map(sha1)]);
  });

  it('end where no issuer is known', () => {
    expect(chains(own)).toEqual([[sha1(own)]]);
  });

  it('lead over cross-certificates of the authority and of its root', () => {
    const upwards = [b.issuer.certificate.der, b.root];
    expect(new Set(chains(own, a.root, crossOfOwn, crossOfRoot, ...upwards).map(String))).toEqual(
      new Set(
        [
          [own, a.root],
          [own, crossOfRoot, ...upwards],
          [crossOfOwn, ...upwards],
        ].map((chain) => String(chain.map(sha1))),
      ),
    );
  });

  it('are selected by the fingerprint of one of their certificates, the configured chain first', () => {
    const upwards = [b.issuer.certificate.der, b.root];
    const known = [own, a.root, crossOfOwn, ...upwards].map((der) => new X509Certificate(der));
    const issuer: CertificateIssuer = { ...a.issuer, otherChains: chainsOf(new X509Certificate(own), known) };
    for (const issued of [undefined, parseIssuingChain(issuingChainRow(a.issuer).der)]) {
      expect(chainFor(issued, issuer, undefined)).toBe(a.issuer.chain);
      expect(chainFor(issued, issuer, sha1(a.root))).toBe(a.issuer.chain);
      expect(chainFor(issued, issuer, sha1(b.root).toLowerCase()).map(sha1)).toEqual([crossOfOwn, ...upwards].map(sha1));
      expect(chainFor(issued, issuer, '00'.repeat(20))).toBe(a.issuer.chain);
    }
  });

  it('of a certificate are those of the key that issued it, whatever key its authority has now', () => {
    const issued = parseIssuingChain(issuingChainRow(a.issuer).der);
    for (const authority of [b.issuer, undefined]) {
      for (const trusted of [undefined, sha1(a.root), sha1(b.root)]) {
        expect(chainFor(issued, authority, trusted).map(sha1)).toEqual(a.issuer.chain.map(sha1));
      }
    }
    expect(chainFor(undefined, undefined, undefined)).toEqual([]);
  });
});
