import type { AuditOutboxRow } from '../state/tables/audit.ts';
import { step, whenCommitted, type Step } from '../state/step.ts';
import type { Effect, StateChange } from './effect.ts';
import { recordedNow, UseRecorder, type Recorded } from './use-recorder.ts';
import type { AdministrationEntry, IdentityTokenDetails, RequestEntry } from './record.ts';

/** The client of a request, and the operation that it asks for. */
export type Requester = Pick<RequestEntry, 'request' | 'client' | 'tenant' | 'spki' | 'address' | 'operation'>;

/**
 * Details that an operation provides while it runs: references and digests, never content or
 * secrets.
 */
export interface AuditDetails {
  /** `keyReference.reference`. */
  key: string | undefined;
  /** Digests of what was signed or issued, each as `<hash>:<hexadecimal>`. */
  readonly digests: string[];
  /** Details of the identity provider's token in the request. */
  identityToken: IdentityTokenDetails | undefined;
  /** Reason for the refusal if rows of the state store were tampered with. */
  tampered: string | undefined;
}

/** Record in the outbox until the request's own record is in the chain. */
export interface OutboxRecord extends Requester, Effect {
  readonly requestID?: string | undefined;
  readonly key?: string | undefined;
  readonly uses?: readonly string[] | undefined;
}

/** A request while an operation processes it. */
export class AuditedRequest implements AuditDetails, Recorded {
  readonly requester: Requester;
  /** Uses of the token for it. */
  readonly uses = new UseRecorder();
  readonly #log: string;
  readonly #outboxIds: string[] = [];
  /** The caller's own identifier, once known. */
  requestID: string | undefined;
  key: string | undefined;
  readonly digests: string[] = [];
  identityToken: IdentityTokenDetails | undefined;
  tampered: string | undefined;
  readonly #effects: Effect[] = [];
  #isRepeated = false;

  constructor(log: string, requester: Requester) {
    this.#log = log;
    this.requester = requester;
  }

  /**
   * Whether it is answered with the outcome of an earlier request with the same Idempotency-Key.
   */
  get isRepeated(): boolean {
    return this.#isRepeated;
  }

  /** Takes over the details of the earlier request. */
  repeats({ key, digests }: { readonly key?: string | undefined; readonly digests: readonly string[] }): void {
    this.#isRepeated = true;
    this.key = key;
    this.digests.splice(0, Infinity, ...digests);
  }

  /**
   * Forgets everything that the record on disk lists, so that a second record of this request does
   * not repeat it.
   */
  forgetRecorded(): void {
    this.uses.forget();
    this.#effects.length = 0;
    this.#outboxIds.length = 0;
  }

  /** Identifiers of the records that this request put into the outbox. */
  get outboxIds(): readonly string[] {
    return this.#outboxIds;
  }

  /** Effects that are known to be committed for it. */
  get effects(): readonly Effect[] {
    return this.#effects;
  }

  settlement(effect: string, change?: StateChange): Step<'addAuditRecord'> {
    const id = `${this.#log}:${this.requester.request}:${this.#outboxIds.length}`;
    this.#outboxIds.push(id);
    const record: OutboxRecord = { ...this.requester, requestID: this.requestID, key: this.key, uses: this.uses.soFar(), effect, change };
    // This machine's clock, as for the times of the log, with which they are compared.
    return whenCommitted(step('addAuditRecord', { id, created_at: Date.now(), record: JSON.stringify(record) }), () => {
      this.#effects.push({ effect, change });
    });
  }
}

/** Notes in the current request's record that rows of the state store were tampered with. */
export function noteTampering(fault: string): void {
  const request = recordedNow();
  if (request instanceof AuditedRequest) request.tampered = fault;
}

/**
 * Returns the record of a settlement, for the same commit; none outside of a request. `effect`
 * describes the commit, such as `a key was made`; `change` is what to apply again to an older state
 * store.
 */
export function auditSteps(effect: string, change?: StateChange): readonly Step<'addAuditRecord'>[] {
  const request = recordedNow();
  return request instanceof AuditedRequest ? [request.settlement(effect, change)] : [];
}

/** Returns the row of the outbox with the record of an operator's command. */
export function administrationRow(log: string, entry: AdministrationEntry, change?: StateChange): AuditOutboxRow {
  const record = JSON.stringify({ ...entry, effect: entry.command, change });
  return { id: `${log}:${entry.request}:0`, created_at: Date.now(), record };
}

/**
 * Returns the same record for an operator's command. Log and command suffice as its identifier,
 * since a command changes the state store once.
 */
export function administrationStep(
  log: string,
  entry: AdministrationEntry,
  change?: StateChange,
): { readonly id: string; readonly step: Step<'addAuditRecord'> } {
  const row = administrationRow(log, entry, change);
  return { id: row.id, step: step('addAuditRecord', row) };
}
