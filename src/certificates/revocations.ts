import { createHash } from 'node:crypto';
import { auditSteps } from '../audit/audited-request.ts';
import type { TenantId } from '../clients/caller.ts';
import { Refusal } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import { holdReason, type CertificateWithRevocation } from '../state/repositories/revocations.ts';
import { outcomeSteps } from '../state/settlement.ts';
import { step } from '../state/step.ts';
import { reasonCode, type RevocationReason } from './revocation-reasons.ts';

/** Told of each certificate that was revoked, held or released: CRLs and kept OCSP answers are out of date. */
export interface RevocationListener {
  /** The serial number in hexadecimal. */
  changed(authority: string, serialNumber: string): void;
}

/** Revocation of the certificates that this service issued (contract §7). */
export class Revocations {
  readonly #store: StateStore;
  readonly #listener: RevocationListener;

  constructor(store: StateStore, listener: RevocationListener) {
    this.#store = store;
    this.#listener = listener;
  }

  /** @throws {Refusal} CERTIFICATE_UNKNOWN; the same for another tenant's certificate. */
  async find(tenant: TenantId, der: Uint8Array): Promise<CertificateWithRevocation> {
    const row = await this.#store.run('findCertificate', createHash('sha1').update(der).digest('hex'));
    if (row === undefined || row.tenant !== tenant || Buffer.compare(row.der, der) !== 0) throw new Refusal('CERTIFICATE_UNKNOWN');
    return row;
  }

  /** Before anything else is asked. @throws {Refusal} CERTIFICATE_STATE */
  check({ reason, not_after: notAfter }: CertificateWithRevocation, asked: RevocationReason): void {
    if (notAfter <= Date.now()) throw refused('the certificate has expired');
    const isOnHold = reason === holdReason;
    if (reason !== null && !isOnHold) throw refused('the certificate is revoked already');
    if (asked === 'REMOVE_FROM_CRL' && !isOnHold) throw refused('the certificate is not on hold');
    if (asked === 'CERTIFICATE_HOLD' && isOnHold) throw refused('the certificate is on hold already');
  }

  /**
   * Revokes, holds or releases; the state of the key changes in the same commit, which keeps what `answer` makes of the date. Answers the date of
   * revocation, which is that of the hold where there was one (X.509 9.5.3.3), or of the release.
   * @throws {Refusal} CERTIFICATE_STATE where somebody else was faster
   */
  async change(certificate: CertificateWithRevocation, asked: RevocationReason, answer: (date: Date) => object): Promise<Date> {
    const { sha1, authority, serial_number: serialNumber, not_after: notAfter } = certificate;
    const heldSince = certificate.reason === holdReason ? certificate.revoked_at : null;
    // CRLs and OCSP answers tell seconds.
    const now = Math.floor(Date.now() / 1000) * 1000;
    const reason = reasonCode(asked);
    const date = new Date(reason === undefined ? now : (heldSince ?? now));
    const kept = await outcomeSteps({ answer: answer(date) });
    try {
      if (reason === undefined) {
        const release = step('releaseHold', { sha1, authority, serialNumber });
        await this.#store.commit([release, ...auditSteps('the certificate is released from hold'), ...kept]);
      } else {
        const effect = reason === holdReason ? 'the certificate is on hold' : 'the certificate is revoked';
        const revocation = { sha1, heldSince, authority, serial_number: serialNumber, reason, revoked_at: now, not_after: notAfter };
        await this.#store.commit([step('revoke', revocation), ...auditSteps(effect), ...kept]);
      }
    } catch (error) {
      const current = await this.#store.run('findCertificate', sha1);
      if (current !== undefined && (current.reason !== certificate.reason || current.revoked_at !== certificate.revoked_at)) {
        throw refused('somebody else revoked, held or released the certificate at this moment');
      }
      throw error;
    } finally {
      // Of a commit that failed nobody knows whether it was done.
      this.#listener.changed(authority, serialNumber);
    }
    return date;
  }
}

function refused(message: string): Refusal {
  return new Refusal('CERTIFICATE_STATE', { message });
}
