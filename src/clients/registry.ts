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

/** The registered clients, in memory: every request looks here. */
export class ClientRegistry {
  readonly #store: StateStore;
  #callers: ReadonlyMap<string, Caller> = new Map();

  constructor(store: StateStore) {
    this.#store = store;
  }

  async load(): Promise<void> {
    const rows = await this.#store.run('listClients');
    this.#callers = new Map(
      rows.map((row) => [
        row.spki_sha256,
        { spkiSha256: row.spki_sha256, name: row.name, tenant: tenantId(row.tenant), roles: parseRoles(row.roles) },
      ]),
    );
  }

  find(spki: string): Caller | undefined {
    return this.#callers.get(spki);
  }
}

function parseRoles(text: string): ReadonlySet<Role> {
  const names: unknown = JSON.parse(text);
  return new Set(roles.filter((role) => Array.isArray(names) && names.includes(role)));
}
