import { createPrivateKey, createPublicKey, sign, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SignerChain } from '../../../src/signatures/format.ts';
import { TimeStampAuthority } from '../../../src/timestamp/time-stamp-authority.ts';
import { readCertificate } from '../../../src/x509/certificate.ts';
import { pathCertificate, type PathCertificate } from '../../../src/x509/path/path-certificate.ts';
import { hourMs, ScratchAuthority, type CertificateFiles } from '../../support/scratch-authority.ts';

export const derOf = ({ certificate }: Pick<CertificateFiles, 'certificate'>): Uint8Array =>
  new Uint8Array(new X509Certificate(readFileSync(certificate)).raw);
export const read = (files: Pick<CertificateFiles, 'certificate'>): PathCertificate => pathCertificate(derOf(files));

/** A root, an issuing CA, a signer below that, and a time-stamp authority below the root. */
export class ScratchChain {
  readonly #directory = mkdtempSync(join(tmpdir(), 'signetd-chain-'));
  readonly root = new ScratchAuthority(this.#directory, 'Root');
  readonly issuing = new ScratchAuthority(this.#directory, 'Issuing', { parent: this.root });
  /** Valid for less long than those above it, in both directions. */
  readonly person = this.issuing.issue('Person', {
    extendedKeyUsage: '',
    from: new Date(Date.now() - hourMs / 2),
    until: new Date(Date.now() + hourMs / 2),
  });
  readonly stamper = this.root.issue('Stamper', { extendedKeyUsage: 'critical,timeStamping' });

  /** The signer with the certificates above it, up to the root unless others are given. */
  signer(files = this.person, issuers: readonly Uint8Array[] = [derOf(this.issuing), derOf(this.root)]): SignerChain {
    const certificate = readCertificate(derOf(files));
    const publicKey = createPublicKey({ key: Buffer.from(certificate.subjectPublicKeyInfo), format: 'der', type: 'spki' });
    return { certificate, publicKey, issuers };
  }

  /** Stamps by the given clock. */
  stampAuthority(now = () => new Date(), files = this.stamper): TimeStampAuthority {
    const key = createPrivateKey(readFileSync(files.key));
    return new TimeStampAuthority(
      {
        certificate: readCertificate(derOf(files)),
        chain: [derOf(files), derOf(this.root)],
        algorithm: { scheme: 'ECDSA', hash: 'sha256' },
        sign: async (bytes) => Promise.resolve(sign('sha256', bytes, key)),
      },
      {
        ...{ policy: '1.2.3.4', otherPolicies: ['1.2.3.5'], hashes: new Set(['sha256', 'sha384']), ordering: false },
        accuracy: { seconds: 1, milliseconds: 0 },
      },
      { now, fault: () => undefined },
    );
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
