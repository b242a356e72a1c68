import { createHash, type X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { StateStore } from '../state/state-store.ts';
import { deciding, step, type Step } from '../state/step.ts';
import { StoreUnavailable } from '../state/store-unavailable.ts';
import type { ClientRow } from '../state/tables/clients.ts';
import { Admission, type Registrations } from './admission.ts';
import { roles, tenantId, type Caller, type Role } from './caller.ts';

/**
 * With other instances: so old may be what an answer goes by. Who revokes a client waits longer than that before it says so, and then no instance
 * lets an answer out that goes by what was before. Durations alone are compared, so the clocks of the machines need not agree.
 */
const validMs = 500;
const otherInstancesMs = 2 * validMs;
/** How long a revocation waits for requests that run; those that take longer lose their connection. */
const runningRequestsMs = 5000;
const maxLooks = 3;

/** SHA-256 of a certificate's SubjectPublicKeyInfo, hexadecimal: what a client is registered by, whatever its certificate's name. */
export function spkiSha256(certificate: X509Certificate): string {
  return createHash('sha256')
    .update(certificate.publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

export interface NewClient {
  readonly certificate: X509Certificate;
  readonly name: string;
  readonly tenant: string;
  readonly roles: readonly Role[];
}

/** Registers a client, or changes what is registered under its public key: where no service has the store open. */
export async function registerClient(store: StateStore, client: NewClient): Promise<void> {
  await store.run('registerClient', rowOf(client, store.now()));
}

/** The registered clients, in memory: every request looks here. What another instance has committed is seen by the next look. */
export class ClientRegistry implements Registrations {
  readonly #store: StateStore;
  readonly #admissions = new Map<string, Set<Admission>>();
  #callers: ReadonlyMap<string, Caller> = new Map();
  #isStale = true;
  #loading: Promise<void> | undefined;
  /** What is in memory holds all that was committed before this moment (`performance.now()`). */
  #rightAsOf = 0;

  constructor(store: StateStore) {
    this.#store = store;
    store.onChange((change) => {
      if (change === 'everything' || change.table === 'clients') this.#isStale = true;
    });
  }

  /** Reads them all. */
  async load(): Promise<void> {
    this.#isStale = true;
    await this.#bringUpToDate();
  }

  /** @throws {StoreUnavailable} where nobody can tell whether it is still registered */
  async find(spki: string): Promise<Caller | undefined> {
    await this.#look();
    return this.#callers.get(spki);
  }

  /** Whether a client is registered, by what is in memory: for what no answer goes by. */
  knows(spki: string): boolean {
    return this.#callers.has(spki);
  }

  /** A request of a client that was found. `cut` ends its connection. */
  admit(caller: Caller, role: Role, cut: () => void): Admission {
    return new Admission(this, caller, role, cut);
  }

  /**
   * Registers a client, with the further steps in the same commit. False, and nothing is changed, where its public key is registered already
   * and `replace` is not given. From the answer on every request goes by it, on every instance.
   */
  async register(client: NewClient, replace: boolean, further: readonly Step[]): Promise<boolean> {
    const row = rowOf(client, this.#store.now());
    if (!replace) {
      const [isNew] = await this.#store.commit([deciding(step('addClient', row)), ...further]);
      await this.load();
      return isNew;
    }
    await this.#store.commit([step('registerClient', row), ...further]);
    await this.#settle(row.spki_sha256);
    return true;
  }

  /**
   * Ends a registration, beside the further steps in the same commit. False where there is none. When it answers, no request of the client
   * runs here, and no instance lets out an answer to one.
   */
  async revoke(spki: string, further: readonly Step[]): Promise<boolean> {
    const [wasRegistered] = await this.#store.commit([deciding(step('revokeClient', spki)), ...further]);
    await this.#settle(spki);
    return wasRegistered;
  }

  async upToDate(): Promise<void> {
    // Without other instances every change is made here, and is in memory before it is answered.
    if (!this.#store.isShared) return;
    for (let looks = 0; performance.now() - this.#rightAsOf > validMs; looks += 1) {
      if (looks === maxLooks) throw new StoreUnavailable('it does not answer in time whether the client is still registered');
      await this.#look();
    }
  }

  holds({ spkiSha256: spki, tenant }: Caller, role: Role): boolean {
    const now = this.#callers.get(spki);
    return now !== undefined && now.tenant === tenant && now.roles.has(role);
  }

  entered(admission: Admission): void {
    const { spkiSha256: spki } = admission.caller;
    const known = this.#admissions.get(spki);
    if (known === undefined) this.#admissions.set(spki, new Set([admission]));
    else known.add(admission);
  }

  left(admission: Admission): void {
    const { spkiSha256: spki } = admission.caller;
    const known = this.#admissions.get(spki);
    known?.delete(admission);
    if (known?.size === 0) this.#admissions.delete(spki);
  }

  /** After a commit that takes something from a client: returns when nothing goes by what was before. */
  async #settle(spki: string): Promise<void> {
    const committed = performance.now();
    await this.load();
    const running = [...(this.#admissions.get(spki) ?? [])];
    const waiting = new AbortController();
    const late = delay(runningRequestsMs, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([Promise.all(running.map(async ({ ended }) => ended)), late]);
    waiting.abort();
    for (const admission of this.#admissions.get(spki) ?? []) if (running.includes(admission)) admission.cut();
    if (this.#store.isShared) await delay(Math.max(0, otherInstancesMs - (performance.now() - committed)));
  }

  async #look(): Promise<void> {
    const began = performance.now();
    await this.#store.refresh();
    await this.#bringUpToDate();
    this.#rightAsOf = Math.max(this.#rightAsOf, began);
  }

  /** A change that is told while they are read makes them stale again; who came with it reads once more. */
  async #bringUpToDate(): Promise<void> {
    if (this.#isStale) {
      this.#isStale = false;
      const loading = this.#read(this.#loading).finally(() => {
        if (this.#loading === loading) this.#loading = undefined;
      });
      this.#loading = loading;
    }
    await this.#loading;
  }

  /** One after the other, so that no older list comes last. */
  async #read(before: Promise<void> | undefined): Promise<void> {
    try {
      await before?.catch(() => undefined);
      const rows = await this.#store.run('listClients');
      this.#callers = new Map(
        rows.map((row) => [
          row.spki_sha256,
          { spkiSha256: row.spki_sha256, name: row.name, tenant: tenantId(row.tenant), roles: parseRoles(row.roles) },
        ]),
      );
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
  }
}

function rowOf({ certificate, name, tenant, roles: names }: NewClient, createdAt: number): ClientRow {
  return { spki_sha256: spkiSha256(certificate), name, tenant, roles: JSON.stringify(names), created_at: createdAt };
}

function parseRoles(text: string): ReadonlySet<Role> {
  const names: unknown = JSON.parse(text);
  return new Set(roles.filter((role) => Array.isArray(names) && names.includes(role)));
}
