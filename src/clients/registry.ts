import { createHash, type X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { StateStore } from '../state/state-store.ts';
import { deciding, step, type Step } from '../state/step.ts';
import { StoreUnavailable } from '../state/store-unavailable.ts';
import type { ClientRow } from '../state/tables/clients.ts';
import { Admission, type Registrations } from './admission.ts';
import { roles, tenantId, type Caller, type Role } from './caller.ts';

/**
 * With other instances: maximum age of the data on which a response may be based. A revocation
 * waits longer than that before it is reported, so that no instance then sends a response based on
 * older data. Only durations are compared, so the clocks of the machines need not agree.
 */
const validMs = 500;
const otherInstancesMs = 2 * validMs;
/** How long a revocation waits for running requests; then their connections are closed. */
const runningRequestsMs = 5000;
const maxLooks = 3;

/**
 * Returns the SHA-256 of a certificate's SubjectPublicKeyInfo in hexadecimal, which identifies a
 * client whatever its certificate's name.
 */
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

/** Validity of the newest certificate of a client that is known. */
export interface ClientCertificate {
  readonly client: string;
  readonly spkiSha256: string;
  readonly from: Date;
  readonly until: Date;
}

/**
 * Registers a client, or changes the registration of its public key, while no service has the store
 * open.
 */
export async function registerClient(store: StateStore, client: NewClient): Promise<void> {
  await store.run('registerClient', rowOf(client, store.now()));
}

/** The public key belonged to a client that was revoked. */
export class RevokedKey extends Error {}

/**
 * Registered clients, in memory, consulted by every request. Changes committed by another instance
 * are seen on the next lookup.
 */
export class ClientRegistry implements Registrations {
  readonly #store: StateStore;
  readonly #admissions = new Map<string, Set<Admission>>();
  #callers: ReadonlyMap<string, Caller> = new Map();
  #certificates: readonly ClientCertificate[] = [];
  readonly #presented = new Map<string, Pick<ClientCertificate, 'from' | 'until'>>();
  #revoked: () => void = () => undefined;
  #isStale = true;
  #loading: Promise<void> | undefined;
  /** Memory contains everything committed before this time (`performance.now()`). */
  #currentAsOf = 0;

  constructor(store: StateStore) {
    this.#store = store;
    store.onChange((change) => {
      if (change === 'everything' || change.table === 'clients') this.#isStale = true;
    });
  }

  /** Calls this after each revocation here. */
  onRevoked(listener: () => void): void {
    this.#revoked = listener;
  }

  /** Reads all clients. */
  async load(): Promise<void> {
    this.#isStale = true;
    await this.#bringUpToDate();
  }

  /**
   * @throws {StoreUnavailable} if it cannot be determined whether the client is still registered
   */
  async find(spki: string): Promise<Caller | undefined> {
    await this.#look();
    return this.#callers.get(spki);
  }

  /** Returns a registered client, unless the state store must be looked at: `find` does. */
  findAtOnce(spki: string): Caller | undefined {
    return this.isAlwaysCurrent && !this.#isStale && this.#loading === undefined ? this.#callers.get(spki) : undefined;
  }

  /** Returns a registered client according to memory; not for decisions about responses. */
  remembered(spki: string): Caller | undefined {
    return this.#callers.get(spki);
  }

  /** Whether a client of this name is registered for the tenant, according to memory. */
  hasNamed({ tenant, name }: { readonly tenant: string; readonly name: string }): boolean {
    return [...this.#callers.values()].some((caller) => caller.tenant === tenant && caller.name === name);
  }

  /**
   * Returns the certificates of the clients whose end is known, according to memory. Of a key that
   * has presented a newer one since the start, it is the newer one.
   */
  get certificates(): ClientCertificate[] {
    return this.#certificates.map((known) => {
      const presented = this.#presented.get(known.spkiSha256);
      return presented === undefined || presented.until <= known.until ? known : { ...known, ...presented };
    });
  }

  /**
   * Notes the certificate with which a client has connected, since its own CA may have renewed it.
   */
  presented(spki: string, { validFromDate: from, validToDate: until }: X509Certificate): void {
    if (this.#callers.has(spki)) this.#presented.set(spki, { from, until });
  }

  /** Admits a request of a known client. `cut` closes its connection. */
  admit(caller: Caller, role: Role, cut: () => void): Admission {
    return new Admission(this, caller, role, cut);
  }

  /**
   * Registers a client, with further steps in the same commit. Returns false and changes nothing if
   * its public key is already registered and `replace` is not set. Once it returns, every request
   * on every instance uses the registration.
   * @param again for a key that was revoked too
   * @throws {RevokedKey} if the key was revoked, and `again` is not set; nothing changes
   */
  async register(client: NewClient, replace: boolean, further: readonly Step[], again = false): Promise<boolean> {
    const row = rowOf(client, this.#store.now());
    const admitted = deciding(step('admitKey', { spkiSha256: row.spki_sha256, again }));
    if (!replace) {
      const [isAdmitted, isNew] = await this.#store.commit([admitted, deciding(step('addClient', row)), ...further]);
      if (!isAdmitted) throw new RevokedKey();
      await this.load();
      return isNew;
    }
    const [isAdmitted] = await this.#store.commit([admitted, step('registerClient', row), ...further]);
    if (!isAdmitted) throw new RevokedKey();
    await this.#settle(row.spki_sha256);
    return true;
  }

  /**
   * Ends a registration, with further steps in the same commit. Returns false if there is none.
   * Once it returns, no request of the client is running here, and no instance sends a response to
   * one.
   * @param now milliseconds since the epoch
   */
  async revoke(spki: string, further: readonly Step[], now = this.#store.now()): Promise<boolean> {
    const [wasRegistered] = await this.#store.commit([deciding(step('revokeClient', { spkiSha256: spki, now })), ...further]);
    this.#revoked();
    await this.#settle(spki);
    return wasRegistered;
  }

  /** Without other instances, every change is made here and is in memory before it is reported. */
  get isAlwaysCurrent(): boolean {
    return !this.#store.isShared;
  }

  async upToDate(): Promise<void> {
    if (this.isAlwaysCurrent) return;
    for (let looks = 0; performance.now() - this.#currentAsOf > validMs; looks += 1) {
      if (looks === maxLooks) throw new StoreUnavailable('the state store did not report in time whether the client is still registered');
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

  /**
   * Called after a commit that restricts a client; returns once nothing uses the previous
   * registration.
   */
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
    this.#currentAsOf = Math.max(this.#currentAsOf, began);
  }

  /**
   * A change notified during the read makes the data stale again; its caller then reads once more.
   */
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

  /** Reads are serialised, so that an older list never replaces a newer one. */
  async #read(before: Promise<void> | undefined): Promise<void> {
    try {
      await before?.catch(() => undefined);
      const rows = await this.#store.run('listClients');
      this.#certificates = rows.flatMap(certificateOf);
      for (const spki of this.#presented.keys()) if (!rows.some((row) => row.spki_sha256 === spki)) this.#presented.delete(spki);
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
  const { validFromDate, validToDate } = certificate;
  return {
    ...{ spki_sha256: spkiSha256(certificate), name, tenant, roles: JSON.stringify(names), created_at: createdAt },
    ...{ not_before: validFromDate.getTime(), not_after: validToDate.getTime() },
  };
}

function certificateOf({ spki_sha256: spki, name, not_before: from, not_after: until }: ClientRow): ClientCertificate[] {
  return from === null || until === null ? [] : [{ client: name, spkiSha256: spki, from: new Date(from), until: new Date(until) }];
}

function parseRoles(text: string): ReadonlySet<Role> {
  const names: unknown = JSON.parse(text);
  return new Set(roles.filter((role) => Array.isArray(names) && names.includes(role)));
}
