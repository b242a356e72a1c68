import { createHash } from 'node:crypto';
import { auditSteps } from '../audit/audited-request.ts';
import type { StateChange } from '../audit/effect.ts';
import type { TenantId } from '../clients/caller.ts';
import { isFault, refusalOf } from '../faults.ts';
import { Refusal } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import type { CertificateWithRevocation } from '../state/repositories/revocations.ts';
import { holdReason } from '../state/tables/revocation.ts';
import { outcomeSteps } from '../state/settlement.ts';
import { step, type Step } from '../state/step.ts';
import { reasonCode, type RevocationReason } from './revocation-reasons.ts';

/**
 * Notified of each certificate that was revoked, held or released, since CRLs and cached OCSP
 * responses are then out of date.
 */
export interface RevocationListener {
  /** The serial number in hexadecimal. */
  changed(authority: string, serialNumber: string): void;
  /** Whether the authority has issued its last CRL: nobody would learn of another revocation. */
  hasRetired?(authority: string): boolean;
}

/** A revocation to be committed, alone or together with other steps. */
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

  /** @throws {Refusal} CERTIFICATE_UNKNOWN, also for another tenant's certificate */
  async find(tenant: TenantId, der: Uint8Array): Promise<CertificateWithRevocation> {
    const row = await this.#store.run('findCertificate', createHash('sha1').update(der).digest('hex'));
    if (row === undefined || row.tenant !== tenant || Buffer.compare(row.der, der) !== 0) throw new Refusal('CERTIFICATE_UNKNOWN');
    return row;
  }

  /** Checks the state before anything else. @throws {Refusal} CERTIFICATE_STATE */
  check({ reason, not_after: notAfter, authority }: CertificateWithRevocation, asked: RevocationReason): void {
    if (notAfter <= this.#store.now()) throw refused('the certificate has expired');
    if (this.#listener.hasRetired?.(authority) === true)
      throw refused('its authority has issued its last CRL and revokes nothing any more');
    const isOnHold = reason === holdReason;
    if (reason !== null && !isOnHold) throw refused('the certificate is already revoked');
    if (asked === 'REMOVE_FROM_CRL' && !isOnHold) throw refused('the certificate is not on hold');
    if (asked === 'CERTIFICATE_HOLD' && isOnHold) throw refused('the certificate is already on hold');
  }

  /**
   * Revokes, holds or releases a certificate. The same commit changes the state of the key and
   * stores the response that `answer` makes of the date. Returns the date of the revocation (that
   * of the hold if there was one, X.509 9.5.3.3) or of the release. `commit` lets the caller add
   * steps to the commit.
   * @throws {Refusal} CERTIFICATE_STATE if another request changed the certificate first
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
      throw refusalOf(error, { message: 'another request has just revoked, held or released the certificate' });
    } finally {
      // A commit that failed may still have taken effect.
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
  // CRLs and OCSP responses have a resolution of one second.
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
