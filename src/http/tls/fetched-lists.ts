import { hash, type X509Certificate } from 'node:crypto';
import type { OutgoingHttp } from '../../outgoing/outgoing-http.ts';
import type { Logger } from '../../telemetry/log.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';
import { authorityKey, type SignedList } from './client-trust.ts';
import type { KeptLists } from './kept-lists.ts';
import { eachAuthority, newestLists, refuseUnusable } from './newest-lists.ts';
import { readSentLists } from './sent-lists.ts';

/** Where CRLs are fetched under one configuration, and whose. */
export interface ListSources {
  readonly urls: readonly URL[];
  readonly refreshMs: number;
  readonly authorities: readonly X509Certificate[];
  readonly http: Pick<OutgoingHttp, 'fetchAs'>;
}

/** Outcome of a fetch: a newer CRL, the same as before, or nothing that can be used. */
export type FetchOutcome = 'newer' | 'unchanged' | 'failed';

interface Tools {
  readonly threads: Pick<WorkThreads, 'run'>;
  readonly kept: KeptLists;
  readonly log: Logger;
  /** Told that there are newer CRLs. */
  readonly changed: () => void;
  readonly ended?: (outcome: FetchOutcome) => void;
}

/** One URL, and what came of its fetches. */
interface Source {
  readonly url: URL;
  readonly name: string;
  /** Digest of the last answer that could be used, and the CRLs in it. */
  last: { readonly digest: string; readonly lists: readonly SignedList[] } | undefined;
  /** Milliseconds since epoch; of the last fetch that succeeded, or when the first one began. */
  goodAtMs: number;
  failures: number;
  reason: string | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** State of a URL for metrics and warnings. */
export interface SourceView {
  /** Without a query, which may be confidential. */
  readonly url: string;
  readonly goodAtMs: number;
  /** Why the last fetch failed. */
  readonly fault: string | undefined;
}

/**
 * More than any CA of clients publishes; a list of half a million certificates has as many bytes.
 */
export const listMaxBytes = 16 * 1024 * 1024;
/** Minimum time between two fetches from a URL that answers, unless its CRLs live shorter. */
const leastMs = 5000;
const firstRetryMs = 1000;
const lastRetryMs = 60_000;

/**
 * Fetches the CRLs of the client CAs and keeps the newest of each: on disk too, for a start while
 * the server is away. A CRL that is older than the one held is refused, so that no revocation is
 * taken back.
 */
export class FetchedLists {
  readonly #tools: Tools;
  #held: ReadonlyMap<string, SignedList> = new Map();
  #sources: readonly Source[] = [];
  #ending = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #keepFault: string | undefined;
  #keeping: Promise<void> = Promise.resolve();

  constructor(tools: Tools) {
    this.#tools = tools;
  }

  /** The newest CRL of each CA that was fetched or kept. */
  get lists(): readonly SignedList[] {
    return [...this.#held.values()];
  }

  get sources(): readonly SourceView[] {
    return this.#sources.map(({ name, goodAtMs, reason }) => ({ url: name, goodAtMs, fault: reason }));
  }

  /** Why the newest CRL could not be kept on disk; undefined if it was. */
  get keepFault(): string | undefined {
    return this.#keepFault;
  }

  /** Reads what an earlier run kept. A file that cannot be used is left out, and logged. */
  async load(authorities: readonly X509Certificate[]): Promise<void> {
    const { kept, threads, log } = this.#tools;
    for (const authority of eachAuthority(authorities)) {
      const file = kept.fileOf(authority);
      try {
        const bytes = await kept.read(authority);
        if (bytes === undefined) continue;
        this.#hold(newestLists([...this.lists, ...(await readSentLists(bytes, file, { authorities, threads }))]));
      } catch (error) {
        log.warn('a kept CRL of a client CA cannot be used; it is fetched again', { file, reason: reasonOf(error) });
      }
    }
  }

  /**
   * Fetches from these URLs from now on, from each of them at once. Fetches of the URLs before them
   * are given up.
   */
  use(wanted: ListSources): void {
    this.#end();
    const before = new Map(this.#sources.map((source) => [source.url.href, source]));
    this.#ending = new AbortController();
    this.#sources = wanted.urls.map((url) => {
      const { goodAtMs, failures, reason } = before.get(url.href) ?? { goodAtMs: Date.now(), failures: 0, reason: undefined };
      return { url, name: `${url.origin}${url.pathname}`, last: undefined, timer: undefined, goodAtMs, failures, reason };
    });
    for (const source of this.#sources) this.#begin(source, wanted);
  }

  /**
   * Fetches once from the URLs of a configuration that is not in force yet, if a CA in it has no CRL
   * here or among `others`. Returns why a fetch failed, by URL.
   */
  async fetchMissing(wanted: ListSources, others: readonly SignedList[]): Promise<readonly string[]> {
    const known = new Set([...this.#held.keys(), ...others.map(({ authority }) => authorityKey(authority))]);
    if (wanted.authorities.every((authority) => known.has(authorityKey(authority)))) return [];
    const outcomes = await Promise.allSettled(
      wanted.urls.map(async (url) => {
        const { lists } = await this.#get(url, url.href, wanted, this.#ending.signal);
        await this.#take(this.#check(lists));
      }),
    );
    return outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [reasonOf(outcome.reason)] : []));
  }

  /** Ends all fetches. */
  async stop(): Promise<void> {
    this.#end();
    await this.#running;
  }

  #end(): void {
    this.#ending.abort();
    for (const { timer } of this.#sources) clearTimeout(timer);
  }

  #begin(source: Source, wanted: ListSources): void {
    const { signal } = this.#ending;
    const fetched = this.#fetch(source, wanted, signal).then(() => {
      if (signal.aborted) return;
      source.timer = setTimeout(
        () => {
          this.#begin(source, wanted);
        },
        waitMs(source, wanted.refreshMs),
      ).unref();
    });
    this.#running = Promise.all([this.#running, fetched]);
  }

  async #fetch(source: Source, wanted: ListSources, signal: AbortSignal): Promise<void> {
    const { log, ended } = this.#tools;
    try {
      const got = await this.#get(source.url, source.name, wanted, signal, source.last);
      if (signal.aborted) return;
      const newer = this.#check(got.lists);
      source.last = got;
      if (source.failures > 0) log.info('CRLs of the client CAs are fetched again', { url: source.name });
      Object.assign(source, { failures: 0, reason: undefined, goodAtMs: Date.now() });
      ended?.(newer.length > 0 ? 'newer' : 'unchanged');
      await this.#take(newer);
    } catch (error) {
      if (signal.aborted) return;
      const reason = reasonOf(error);
      if (source.reason !== reason) log.warn('a CRL of a client CA was not fetched; it is tried again', { url: source.name, reason });
      source.failures += 1;
      source.reason = reason;
      ended?.('failed');
    }
  }

  /** @throws {FetchFailed} and {TlsMaterialError} for an answer that cannot be used */
  async #get(
    url: URL,
    name: string,
    { http, authorities }: ListSources,
    signal: AbortSignal,
    last?: Source['last'],
  ): Promise<NonNullable<Source['last']>> {
    return http.fetchAs({ url, method: 'GET', answerMaxBytes: listMaxBytes, signal }, async (bytes) => {
      const digest = hash('sha256', bytes, 'base64');
      if (last?.digest === digest) return last;
      return { digest, lists: await readSentLists(bytes, name, { authorities, threads: this.#tools.threads }) };
    });
  }

  /**
   * Returns those that are newer than what is held.
   * @throws {TlsMaterialError} if one may not be used
   */
  #check(lists: readonly SignedList[]): SignedList[] {
    return newestLists(lists).filter((list) => {
      const held = this.#held.get(authorityKey(list.authority));
      refuseUnusable(list, held);
      return held === undefined || Buffer.compare(held.der, list.der) !== 0;
    });
  }

  #hold(lists: readonly SignedList[]): void {
    this.#held = new Map([...this.#held, ...lists.map((list) => [authorityKey(list.authority), list] as const)]);
  }

  /** Puts newer CRLs in force, wherever they come from: nobody hears of the same ones again. */
  async #take(newer: readonly SignedList[]): Promise<void> {
    if (newer.length === 0 && this.#keepFault === undefined) return;
    this.#hold(newer);
    this.#tools.changed();
    const keys = this.#keepFault === undefined ? newer.map(({ authority }) => authorityKey(authority)) : [...this.#held.keys()];
    // One after the other: of two at once, the file might have parts of both, or the older one.
    this.#keeping = this.#keeping.then(async () => this.#keep(keys));
    await this.#keeping;
  }

  /**
   * Writes what is held of these CAs by now. A CRL that cannot be kept is in force all the same.
   */
  async #keep(keys: readonly string[]): Promise<void> {
    const { kept, log } = this.#tools;
    let fault: string | undefined;
    for (const list of keys.flatMap((key) => this.#held.get(key) ?? [])) {
      try {
        await kept.write(list);
      } catch (error) {
        fault = `${kept.directory}: ${reasonOf(error)}`;
      }
    }
    if (fault !== undefined && fault !== this.#keepFault)
      log.error('a CRL of a client CA is in force, but cannot be kept for the next start', { reason: fault });
    this.#keepFault = fault;
  }
}

/**
 * Returns how long to wait for the next fetch: the time of the configuration, or half of what is
 * left of the CRL that ends first; after failures twice as long each time. Several instances do not
 * ask at the same moment.
 */
function waitMs({ failures, last }: Pick<Source, 'failures' | 'last'>, refreshMs: number): number {
  if (failures > 0) return Math.min(firstRetryMs * 2 ** Math.min(failures - 1, 16), lastRetryMs, refreshMs) * between(0.75, 1.25);
  const nowMs = Date.now();
  const dueMs = (last?.lists ?? []).map(({ thisUpdate, nextUpdate }) => {
    const livesMs = nextUpdate.getTime() - thisUpdate.getTime();
    return Math.max((nextUpdate.getTime() - nowMs) / 2, Math.min(leastMs, livesMs / 10));
  });
  return Math.min(refreshMs, ...dueMs) * between(0.9, 1);
}

function between(least: number, most: number): number {
  return least + Math.random() * (most - least);
}
