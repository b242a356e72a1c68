import { createHash } from 'node:crypto';
import { auditSteps } from '../audit/audited-request.ts';
import type { StateChange } from '../audit/effect.ts';
import type { TenantId } from '../clients/caller.ts';
import { isFault, refusalOf } from '../faults.ts';
import { Refusal } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import { holdReason, type CertificateWithRevocation } from '../state/repositories/revocations.ts';
import { outcomeSteps } from '../state/settlement.ts';
import { step, type Step } from '../state/step.ts';
import { reasonCode, type RevocationReason } from './revocation-reasons.ts';

/** Told of each certificate that was revoked, held or released: CRLs and kept OCSP answers are out of date. */
export interface RevocationListener {
  /** The serial number in hexadecimal. */
  changed(authority: string, serialNumber: string): void;
}

/** What is to be committed, as it is or with more. */
export interface RevocationChange {
  readonly steps: readonly Step[];
  /** For the audit log. */
  readonly effect: string;
  readonly change: StateChange;
  readonly answer: object;
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
    if (notAfter <= this.#store.now()) throw refused('the certificate has expired');
    const isOnHold = reason === holdReason;
    if (reason !== null && !isOnHold) throw refused('the certificate is revoked already');
    if (asked === 'REMOVE_FROM_CRL' && !isOnHold) throw refused('the certificate is not on hold');
    if (asked === 'CERTIFICATE_HOLD' && isOnHold) throw refused('the certificate is on hold already');
  }

  /**
   * Revokes, holds or releases; the state of the key changes in the same commit, which keeps what `answer` makes of the date. Answers the date of
   * revocation, which is that of the hold where there was one (X.509 9.5.3.3), or of the release. `commit`: who has more for that commit.
   * @throws {Refusal} CERTIFICATE_STATE where somebody else was faster
   */
  async change(
    certificate: CertificateWithRevocation,
    asked: RevocationReason,
    answer: (date: Date) => object,
    commit: (change: RevocationChange) => Promise<void> = async (change) => this.#commit(change),
  ): Promise<Date> {
    const { authority, serial_number: serialNumber } = certificate;
    const { date, ...change } = changeOf(certificate, asked, this.#store.now());
    try {
      await commit({ ...change, answer: answer(date) });
    } catch (error) {
      if (!isFault(error, 'CERTIFICATE_CHANGED')) throw error;
      throw refusalOf(error, { message: 'somebody else revoked, held or released the certificate at this moment' });
    } finally {
      // Of a commit that failed nobody knows whether it was done.
      this.#listener.changed(authority, serialNumber);
    }
    return date;
  }

  async #commit({ steps, effect, change, answer }: RevocationChange): Promise<void> {
    await this.#store.commit([...steps, ...auditSteps(effect, change), ...(await outcomeSteps({ answer }))]);
  }
}

function changeOf(
  { sha1, authority, serial_number: serialNumber, not_after: notAfter, ...certificate }: CertificateWithRevocation,
  asked: RevocationReason,
  now: number,
): Pick<RevocationChange, 'steps' | 'effect' | 'change'> & { readonly date: Date } {
  const heldSince = certificate.reason === holdReason ? certificate.revoked_at : null;
  // CRLs and OCSP answers tell seconds.
  const moment = Math.floor(now / 1000) * 1000;
  const reason = reasonCode(asked);
  if (reason === undefined) {
    const release = step('releaseHold', { sha1, authority, serialNumber });
    const change = { kind: 'revocation' as const, authority, serialNumber, reason: null, date: moment, notAfter };
    return { date: new Date(moment), steps: [release], effect: 'the certificate is released from hold', change };
  }
  const revocation = { sha1, heldSince, authority, serial_number: serialNumber, reason, revoked_at: moment, not_after: notAfter };
  const effect = reason === holdReason ? 'the certificate is on hold' : 'the certificate is revoked';
  const date = heldSince ?? moment;
  const change = { kind: 'revocation' as const, authority, serialNumber, reason, date, notAfter };
  return { date: new Date(date), steps: [step('revoke', revocation)], effect, change };
}

function refused(message: string): Refusal {
  return new Refusal('CERTIFICATE_STATE', { message });
}
