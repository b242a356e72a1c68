import { AsyncLocalStorage } from 'node:async_hooks';
import { step, whenCommitted, type Step } from '../state/step.ts';
import type { Effect, StateChange } from './effect.ts';
import { tellingUses, UseTeller } from './told-uses.ts';
import type { AdministrationEntry, IdentityTokenDetails, RequestEntry } from './record.ts';

/** Who asks for what. */
export type Requester = Pick<RequestEntry, 'request' | 'client' | 'tenant' | 'spki' | 'address' | 'operation'>;

/** What an operation says of itself while it runs; references and digests, never content and never a secret. */
export interface AuditDetails {
  /** `keyReference.reference`. */
  key: string | undefined;
  /** Of what was signed or issued, each as `<hash>:<hexadecimal>`. */
  readonly digests: string[];
  /** Of the token of an identity provider that the request came with. */
  identityToken: IdentityTokenDetails | undefined;
  /** Why it was refused, where rows of the state store are not as the service wrote them. */
  tampered: string | undefined;
}

/** What the outbox holds until the request's own record is in the chain. */
export interface OutboxRecord extends Requester, Effect {
  readonly requestID?: string | undefined;
  readonly key?: string | undefined;
  readonly uses?: readonly string[] | undefined;
}

/** A request on its way through an operation. */
export class AuditedRequest implements AuditDetails {
  readonly requester: Requester;
  /** What the token does for it. */
  readonly uses = new UseTeller();
  readonly #log: string;
  readonly #outboxIds: string[] = [];
  /** The caller's own, where it is known by now. */
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

  /** It is answered with the outcome of an earlier request, by its Idempotency-Key. */
  get isRepeated(): boolean {
    return this.#isRepeated;
  }

  /** Takes over what the earlier request said of itself. */
  repeats({ key, digests }: { readonly key?: string | undefined; readonly digests: readonly string[] }): void {
    this.#isRepeated = true;
    this.key = key;
    this.digests.splice(0, Infinity, ...digests);
  }

  /** Forgets what the record on the disk lists, so that a second record of this request does not repeat it. */
  noteTold(): void {
    this.uses.forget();
    this.#effects.length = 0;
    this.#outboxIds.length = 0;
  }

  /** Identifiers of the records that this request put into the outbox. */
  get outboxIds(): readonly string[] {
    return this.#outboxIds;
  }

  /** What is known to be committed for it. */
  get effects(): readonly Effect[] {
    return this.#effects;
  }

  settlement(effect: string, change?: StateChange): Step<'addAuditRecord'> {
    const id = `${this.#log}:${this.requester.request}:${this.#outboxIds.length}`;
    this.#outboxIds.push(id);
    const record: OutboxRecord = { ...this.requester, requestID: this.requestID, key: this.key, uses: this.uses.sofar(), effect, change };
    // By this machine's clock, which the times of the log are of: they are compared.
    return whenCommitted(step('addAuditRecord', { id, created_at: Date.now(), record: JSON.stringify(record) }), () => {
      this.#effects.push({ effect, change });
    });
  }
}

/**
 * The request that is being carried out. A settlement lies deep in the rooms below; that it belongs to a request is nothing that every function on the
 * way there should have to say.
 */
const currentRequest = new AsyncLocalStorage<AuditedRequest>();

export async function carriedOut<T>(request: AuditedRequest, work: () => Promise<T>): Promise<T> {
  return currentRequest.run(request, async () => tellingUses(request.uses, work));
}

/** Has the record of the request that is carried out say that rows of the state store are not as the service wrote them. */
export function noteTampering(fault: string): void {
  const request = currentRequest.getStore();
  if (request !== undefined) request.tampered = fault;
}

/**
 * The record of a settlement, for the same commit; none outside of a request. `effect` says what the commit does, such as `a key was made`; `change` what an
 * older state store is to be told of it.
 */
export function auditSteps(effect: string, change?: StateChange): readonly Step<'addAuditRecord'>[] {
  const request = currentRequest.getStore();
  return request === undefined ? [] : [request.settlement(effect, change)];
}

/** The same for an operator's command. Its identifier is that of the log and the command, since it changes the state store once. */
export function administrationStep(
  log: string,
  entry: AdministrationEntry,
): { readonly id: string; readonly step: Step<'addAuditRecord'> } {
  const id = `${log}:${entry.request}:0`;
  const record = JSON.stringify({ ...entry, effect: entry.command });
  return { id, step: step('addAuditRecord', { id, created_at: Date.now(), record }) };
}
