import { createHash } from 'node:crypto';
import type { StateStore } from '../../state/state-store.ts';
import type { CertificateIssuer } from '../issue.ts';
import { certificateList } from './certificate-list.ts';
import type { CrlSettings } from './crl-publisher.ts';

/** nextUpdate of a CRL after which none follows (RFC 5280 §4.1.2.5; ETSI EN 319 411-1 §6.3.9). */
export const never = new Date(Date.UTC(9999, 11, 31, 23, 59, 59));
const claimMs = 60_000;

/**
 * Issues the last CRL of an authority and has it published in place of the one before. `nextUpdate`:
 * `never`, or, while certificates of the authority are valid, the end of its own.
 * @throws {Error} if another process is issuing one at this moment, or the key does not sign
 */
export async function lastCrl(
  store: StateStore,
  authority: string,
  issuer: CertificateIssuer,
  { keepExpired, nextUpdate }: Pick<CrlSettings, 'keepExpired'> & { readonly nextUpdate: Date },
): Promise<{ readonly der: Uint8Array; readonly number: number; readonly nextUpdate: Date }> {
  const { certificate, signatureAlgorithm, sign } = issuer;
  const { subject: name, subjectPublicKeyInfo, subjectKeyIdentifier, notBefore } = certificate;
  const signer = createHash('sha256').update(subjectPublicKeyInfo).digest('hex');
  const now = store.now();
  const claim = await store.run('claimCrl', {
    ...{ authority, now, claimedUntil: now + claimMs, ignoreClaim: !store.isShared, minGapMs: 0, keepExpired },
    ...{ endsBefore: never.getTime() + 1, madeSince: now, signer, signerSince: notBefore.getTime(), ignoreNewer: true },
  });
  if (claim === undefined) throw new Error('a CRL of this authority is being issued; repeat the command');
  const thisUpdate = new Date(Math.floor(now / 1000) * 1000);
  try {
    const der = await certificateList(
      { name, subjectPublicKeyInfo, subjectKeyIdentifier, signatureAlgorithm, sign: async (tbs) => sign(tbs) },
      { number: claim.number, thisUpdate, nextUpdate, revoked: claim.revoked, ...(keepExpired ? { expiredFrom: notBefore } : {}) },
    );
    await store.run('publishCrl', {
      ...{ authority, number: claim.number, der, signer, signer_since: notBefore.getTime(), published_revision: claim.revision },
      ...{ this_update: thisUpdate.getTime(), next_update: nextUpdate.getTime() },
    });
    return { der, number: claim.number, nextUpdate };
  } catch (error) {
    await store.run('giveUpCrl', { authority, number: claim.number });
    throw error;
  }
}
