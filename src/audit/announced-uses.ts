import { hash } from 'node:crypto';
import { readAll } from '../asn1/reader.ts';
import type { KeyId } from '../token/key-id.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import { signUse } from '../token/uses.ts';
import type { Token } from '../token/token.ts';
import { distinguishedNameText } from '../x509/distinguished-name.ts';
import { readTbsCertificate } from '../x509/tbs-certificate.ts';
import type { CertificateDetails } from './record.ts';

/** What a key is about to sign. */
export interface AnnouncedUse {
  /** In the form of `token/uses.ts`. */
  readonly use: string;
  /** If it is a certificate. */
  readonly certificate?: CertificateDetails | undefined;
  /** The whole message, unless only its digest is known. */
  readonly message?: Uint8Array | undefined;
}

/**
 * Returns a token that signs only what `announce` has recorded: a signature with a key of a CA is
 * valid for years, so its record must not depend on what happens afterwards.
 * @param announce rejects if the use cannot be recorded; then nothing is signed
 */
export function announcingToken(token: Token, announce: (use: AnnouncedUse) => Promise<void>): Token {
  const announceDigests = async (id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[]): Promise<void> => {
    for (const digest of digests) await announce({ use: signUse(id, algorithm, digest) });
  };
  return {
    createKey: async (id, type) => token.createKey(id, type),
    destroyKey: async (id) => token.destroyKey(id),
    async signAsService(id, algorithm, message) {
      const use = signUse(id, algorithm, hash(algorithm.hash, message, 'buffer'));
      await announce({ use, certificate: certificateIn(message), message });
      return token.signAsService(id, algorithm, message);
    },
    async signDigests(id, algorithm, digests) {
      await announceDigests(id, algorithm, digests);
      return token.signDigests(id, algorithm, digests);
    },
    async signWithProof(id, algorithm, digests, proofs) {
      await announceDigests(id, algorithm, digests);
      return token.signWithProof(id, algorithm, digests, proofs);
    },
    async signAsIdentity(id, algorithm, zones, proofs) {
      for (const zone of zones) await announce({ use: signUse(id, algorithm, hash(algorithm.hash, zone, 'buffer')) });
      return token.signAsIdentity(id, algorithm, zones, proofs);
    },
    verifyProof: async (id, proofs) => token.verifyProof(id, proofs),
    makeMac: async (id, kind, secret, scope) => token.makeMac(id, kind, secret, scope),
    claimKey: async (id, claim) => token.claimKey(id, claim),
    random: async (bytes) => token.random(bytes),
    listKeys: async () => token.listKeys(),
    findKeys: async (ids) => token.findKeys(ids),
  };
}

/** Returns what a record says of a certificate (RFC 5280 §4.1.2). */
export function certificateDetails(certificate: {
  /** Content octets of the INTEGER. */
  readonly serialNumber: Uint8Array;
  /** DER of the Name. */
  readonly subject: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
}): CertificateDetails {
  const { serialNumber, subject, notBefore, notAfter } = certificate;
  return {
    serialNumber: Buffer.from(serialNumber).toString('hex'),
    subject: distinguishedNameText(subject),
    notBefore: notBefore.toISOString(),
    notAfter: notAfter.toISOString(),
  };
}

/** Messages that are no TBSCertificate are CRLs, requests and trials. */
function certificateIn(message: Uint8Array): CertificateDetails | undefined {
  try {
    return certificateDetails(readTbsCertificate(readAll(message)));
  } catch {
    return undefined;
  }
}
