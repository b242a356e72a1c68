import type { Registry } from 'prom-client';
import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import type { Participant, Switch } from '../config/reloader.ts';
import { FetchedLists, type ListSources } from '../http/tls/fetched-lists.ts';
import { KeptLists } from '../http/tls/kept-lists.ts';
import { readClientAuthorities, readClientLists } from '../http/tls/material.ts';
import type { ReloadableTls } from '../http/tls/reload.ts';
import { clientListMetrics } from '../telemetry/client-list-metrics.ts';
import type { Logger } from '../telemetry/log.ts';
import type { OutgoingEnd } from '../telemetry/outgoing-metrics.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { outgoingClient } from './outgoing-client.ts';

interface Tools {
  readonly threads: WorkThreads;
  readonly registry: Registry;
  readonly log: Logger;
  /** Told how each request to another server ended. */
  readonly asked: (end: OutgoingEnd) => void;
}

/** The CRLs of the client CAs that are fetched, and the listener that uses them. */
export class ClientLists implements Participant {
  readonly #asked: Tools['asked'];
  readonly #lists: FetchedLists;
  #tls: ReloadableTls | undefined;

  private constructor({ threads, registry, log, asked }: Tools, directory: string) {
    this.#asked = asked;
    const ended = clientListMetrics(registry, {
      authorities: () => this.#tls?.authorityLists ?? [],
      sources: () => this.#lists.sources,
    });
    const changed = (): void => this.#tls?.takeFetched();
    this.#lists = new FetchedLists({ threads, kept: new KeptLists(directory), log, changed, ended });
  }

  /** Reads what an earlier run kept, if CRLs are fetched. */
  static async open(tools: Tools, { listeners: { api } }: Config): Promise<ClientLists> {
    const made = new ClientLists(tools, api.clientRevocationDirectory);
    if (api.clientRevocationUrls.length > 0) await made.#lists.load(readClientAuthorities(api));
    return made;
  }

  /** Returns the newest CRL of each CA that was fetched or kept. */
  readonly fetched: () => FetchedLists['lists'] = () => this.#lists.lists;

  /** Fetches from now on, for this listener. */
  begin(tls: ReloadableTls, config: Config): void {
    this.#tls = tls;
    this.#lists.use(this.#sourcesOf(config));
  }

  /**
   * Reloads the TLS files. A CA that has no CRL yet gets one first: a URL that gives none is
   * refused, rather than all its clients.
   * @throws {TlsMaterialError} for files that cannot be used
   * @throws {ConfigError} if there would be a CA without a CRL
   */
  async prepare(next: Config): Promise<Switch> {
    const tls = this.#tls;
    if (tls === undefined) throw new ConfigError('listeners.api: it is not open yet');
    const { api } = next.listeners;
    const sources = this.#sourcesOf(next);
    const faults = sources.urls.length === 0 ? [] : await this.#lists.fetchMissing(sources, readClientLists(api) ?? []);
    try {
      const change = tls.prepare(api);
      return () => {
        change();
        this.#lists.use(sources);
      };
    } catch (error) {
      if (faults.length === 0) throw error;
      throw new ConfigError([reasonOf(error), ...faults.map((fault) => `listeners.api.clientRevocationUrls: ${fault}`)].join('\n'));
    }
  }

  /** Returns which URLs give nothing that can be used, and whether CRLs are not kept. */
  warnings(): Record<string, string> {
    const faults = this.#lists.sources.flatMap(({ url, fault, goodAtMs }) =>
      fault === undefined ? [] : [`${url} (since ${new Date(goodAtMs).toISOString()}): ${fault}`],
    );
    const { keepFault } = this.#lists;
    return {
      ...(faults.length === 0 ? {} : { clientCrlFetch: `no CRL of the client CAs comes from ${faults.join('; ')}` }),
      ...(keepFault === undefined ? {} : { clientCrlsKept: `CRLs of the client CAs are not kept for the next start: ${keepFault}` }),
    };
  }

  async stop(): Promise<void> {
    await this.#lists.stop();
  }

  #sourcesOf({ listeners: { api }, outgoing }: Config): ListSources {
    return {
      urls: api.clientRevocationUrls.map((url) => new URL(url)),
      refreshMs: api.clientRevocationRefreshSeconds * 1000,
      authorities: readClientAuthorities(api),
      http: outgoingClient(outgoing, this.#asked),
    };
  }
}
