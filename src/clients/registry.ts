import { createHash, type X509Certificate } from 'node:crypto';
import type { StateStore } from '../state/state-store.ts';
import { roles, tenantId, type Caller, type Role } from './caller.ts';

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

/** Registers a client, or changes what is registered under its public key. */
export async function registerClient(store: StateStore, client: NewClient): Promise<void> {
  await store.run('registerClient', {
    spki_sha256: spkiSha256(client.certificate),
    name: client.name,
    tenant: client.tenant,
    roles: JSON.stringify(client.roles),
    created_at: Date.now(),
  });
}

/** The registered clients, in memory: every request looks here. What another instance has committed is seen by the next look. */
export class ClientRegistry {
  readonly #store: StateStore;
  #callers: ReadonlyMap<string, Caller> = new Map();
  #isStale = true;
  #loading: Promise<void> | undefined;

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
    await this.#store.refresh();
    await this.#bringUpToDate();
    return this.#callers.get(spki);
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

function parseRoles(text: string): ReadonlySet<Role> {
  const names: unknown = JSON.parse(text);
  return new Set(roles.filter((role) => Array.isArray(names) && names.includes(role)));
}
