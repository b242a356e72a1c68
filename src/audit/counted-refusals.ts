import type { Logger } from '../telemetry/log.ts';
import type { RefusedEntry, WrongSecretsEntry } from './record.ts';
import { RefusedClients, type RefusedClient } from './refused-clients.ts';

/** A secret that was not compared: the facts of its record. */
export type RefusedSecret = Omit<WrongSecretsEntry, 'kind' | 'count' | 'since'>;

/**
 * Refusals that anybody can cause at will. They are counted, so that they cannot fill the disk: one
 * record a minute for each reason and registered client, and for each client or tenant whose secrets
 * are not compared.
 */
export class CountedRefusals {
  readonly #append: (entry: RefusedEntry | WrongSecretsEntry) => Promise<unknown>;
  readonly #log: Logger;
  readonly #clients = new RefusedClients();
  readonly #secrets = new Map<string, WrongSecretsEntry>();

  constructor(append: (entry: RefusedEntry | WrongSecretsEntry) => Promise<unknown>, log: Logger) {
    this.#append = append;
    this.#log = log;
  }

  addClient(reason: string, address: string | undefined, client?: RefusedClient): void {
    this.#clients.add(reason, address, client);
  }

  addSecret(refused: RefusedSecret): void {
    this.#add({ kind: 'wrong-secrets', ...refused, count: 1, since: new Date().toISOString() });
  }

  /** Writes the records of what came since the last call; what cannot be written is kept. */
  async write(): Promise<void> {
    for (const entry of this.#clients.take()) {
      const { reason, client, tenant, count } = entry;
      if (client !== undefined) this.#log.warn('a registered client is refused', { reason, client, tenant, requests: count });
      await this.#append(entry).catch(() => {
        this.#clients.putBack(entry);
      });
    }
    const secrets = [...this.#secrets.values()];
    this.#secrets.clear();
    for (const entry of secrets) {
      const { reason, client, tenant, count } = entry;
      this.#log.warn('too many wrong secrets came, and none is compared for a while', { reason, client, tenant, requests: count });
      await this.#append(entry).catch(() => {
        this.#add(entry);
      });
    }
  }

  /** The earlier of two entries of one client or tenant keeps its time. */
  #add(entry: WrongSecretsEntry): void {
    const name = `${entry.spki ?? ''} ${entry.tenant}`;
    const known = this.#secrets.get(name);
    if (known === undefined) this.#secrets.set(name, entry);
    else
      this.#secrets.set(name, { ...known, since: known.since < entry.since ? known.since : entry.since, count: known.count + entry.count });
  }
}
