import type { AccountHead } from '../token/account-files.ts';
import { keyOwner, keyPurpose, parseKeyId } from '../token/key-id.ts';
import { accountChains, BadAccount, type AccountEntry } from './account-chain.ts';
import type { BadPlace } from './verify.ts';
import type { Line } from './line.ts';

export interface CompareOptions {
  /** Uses that an operator has explained: their lines, as `<chain>:<line>`. */
  readonly explained: ReadonlySet<string>;
  /** Uses since this time (milliseconds since the epoch) may not have their record yet. */
  readonly recentFrom: number;
}

/** A use in the token host's account that has no record in the audit log. */
export interface UnrecordedUse {
  readonly use: string;
  readonly time: string;
  readonly file: string;
  readonly line: number;
  /** Its name for the option `--explained`. */
  readonly place: string;
  /** Time of the service's next start: a crash, or a full disk, may have prevented the record. */
  readonly startedAgain?: string | undefined;
}

export interface AccountVerdict {
  /** First damaged place of each chain. */
  readonly bad: readonly BadPlace[];
  readonly lines: number;
  /** Number of uses that have records. */
  readonly recorded: number;
  readonly unrecorded: readonly UnrecordedUse[];
  readonly unrecordedCount: number;
  readonly explainedCount: number;
  /** Number of uses that are too recent to be checked. */
  readonly onTheirWay: number;
  /**
   * Number of signatures by service keys that do not have a record each (OCSP responses,
   * time-stamps, checkpoints), by key.
   */
  readonly services: Readonly<Record<string, number>>;
  /** Number of wrong secrets that were compared. */
  readonly wrongSecrets: number;
}

interface Pending {
  readonly entry: AccountEntry;
  readonly use: string;
  startedAgain?: string;
}

interface ChainState {
  readonly entries: AsyncGenerator<AccountEntry, undefined>;
  ahead: AccountEntry | undefined;
  n: number;
  /** Hashes of the lines since the last one named by a checkpoint. */
  readonly hashes: Map<number, string>;
}

const namedMax = 1000;
/**
 * Clocks are adjusted and threads write one after the other, so a record may be slightly older than
 * the use.
 */
const slackMs = 600_000;
/** Longest time between a use and its record: an older use is not explained by a start. */
const cutMs = 300_000;

/**
 * Compares the token host's account of uses with the records of the audit log, or of the logs of all daemons that share the host, in one
 * pass over all.
 */
export class AccountComparison {
  readonly #options: CompareOptions;
  readonly #chains = new Map<number, ChainState>();
  readonly #pending = new Map<string, Pending[]>();
  /** Uses of the most recent records, with their times. */
  readonly #recent = new Map<string, number>();
  readonly #bad: BadPlace[] = [];
  readonly #services: Record<string, number> = {};
  readonly #unrecorded: UnrecordedUse[] = [];
  #beginMs = 0;
  #lastRecordMs = 0;
  #lines = 0;
  #recorded = 0;
  #explainedCount = 0;
  #wrongSecrets = 0;

  /** @throws the error of the file system if the directory cannot be read */
  constructor(directory: string, options: CompareOptions) {
    this.#options = options;
    for (const [chain, entries] of accountChains(directory)) {
      this.#chains.set(chain, { entries, ahead: undefined, n: 0, hashes: new Map() });
    }
  }

  /**
   * Returns what the reader of a log tells each record.
   * @param isFromBeginning false if older files of the log are archived: uses from before its first record are then not checked
   * @param pass takes the record at its turn, if there are several logs
   */
  readerOf(isFromBeginning: boolean, pass = async (record: Line): Promise<void> => this.take(record)): (record: Line) => Promise<void> {
    let isFirst = true;
    return async (record) => {
      if (isFirst && !isFromBeginning) this.#beginMs = Math.max(this.#beginMs, Date.parse(record.time));
      isFirst = false;
      await pass(record);
    };
  }

  /** Takes the next record of the log, or of several logs in the order of their times. */
  async take(record: Line): Promise<void> {
    const time = Date.parse(record.time);
    await this.#readUntil(time);
    if (record.kind === 'start') this.#markCut(record.time);
    if (record.kind === 'checkpoint') for (const head of record.account ?? []) await this.#checkHead(head, record.n);
    if (record.kind === 'request' || record.kind === 'administration') for (const use of record.uses ?? []) this.#record(use, time);
    this.#lastRecordMs = time;
  }

  /** Returns the verdict, after the last record. */
  async end(): Promise<AccountVerdict> {
    await this.#readUntil(Infinity);
    let onTheirWay = 0;
    let unrecordedCount = 0;
    for (const { entry, use, startedAgain } of [...this.#pending.values()].flat()) {
      const { said, file, line, chain } = entry;
      if (Date.parse(said.time) >= this.#options.recentFrom) {
        onTheirWay += 1;
        continue;
      }
      unrecordedCount += 1;
      if (this.#unrecorded.length < namedMax)
        this.#unrecorded.push({ use, time: said.time, file, line, place: `${chain}:${said.n}`, startedAgain });
    }
    return {
      bad: this.#bad,
      lines: this.#lines,
      recorded: this.#recorded,
      unrecorded: this.#unrecorded.toSorted((left, right) => (left.time < right.time ? -1 : 1)),
      unrecordedCount,
      explainedCount: this.#explainedCount,
      onTheirWay,
      services: this.#services,
      wrongSecrets: this.#wrongSecrets,
    };
  }

  async #readUntil(timeMs: number): Promise<void> {
    for (const state of this.#chains.values()) while (await this.#readOne(state, (entry) => Date.parse(entry.said.time) <= timeMs));
  }

  async #readTo(state: ChainState, n: number): Promise<void> {
    for (let isThere = true; isThere && state.n < n;) isThere = await this.#readOne(state, () => true);
  }

  /**
   * Takes the next line of a chain if it is wanted. Returns false if it is not, or if there is
   * none.
   */
  async #readOne(state: ChainState, isWanted: (entry: AccountEntry) => boolean): Promise<boolean> {
    state.ahead ??= await this.#next(state);
    const entry = state.ahead;
    if (entry === undefined || !isWanted(entry)) return false;
    state.ahead = undefined;
    const { said, hash } = entry;
    this.#lines += 1;
    state.n = said.n;
    state.hashes.set(said.n, hash);
    if ('uses' in said) for (const use of said.uses) this.#use(use, entry);
    return true;
  }

  async #next(state: ChainState): Promise<AccountEntry | undefined> {
    try {
      const next: IteratorResult<AccountEntry, undefined> = await state.entries.next();
      return next.value;
    } catch (error) {
      if (!(error instanceof BadAccount)) throw error;
      this.#bad.push(error.place);
      return undefined;
    }
  }

  #use(use: string, entry: AccountEntry): void {
    const [kind, key = ''] = use.split(' ', 2);
    if (kind === 'wrong') this.#wrongSecrets += Number(use.split(' ')[2] ?? 0);
    if (kind !== 'sign' && kind !== 'mac' && kind !== 'message') return;
    if (kind !== 'mac' && !hasRecords(key)) {
      this.#services[key] = (this.#services[key] ?? 0) + 1;
      return;
    }
    if (this.#options.explained.has(`${entry.chain}:${entry.said.n}`)) this.#explainedCount += 1;
    else if (this.#recent.has(use)) this.#recorded += 1;
    else if (Date.parse(entry.said.time) >= this.#beginMs) {
      const same = this.#pending.get(use) ?? [];
      same.push({ entry, use });
      this.#pending.set(use, same);
    }
  }

  #record(use: string, timeMs: number): void {
    this.#recorded += this.#pending.get(use)?.length ?? 0;
    this.#pending.delete(use);
    // Deleted and set again, so that the oldest come first.
    this.#recent.delete(use);
    this.#recent.set(use, timeMs);
    for (const [oldest, then] of this.#recent) {
      if (then > timeMs - slackMs) break;
      this.#recent.delete(oldest);
    }
  }

  #markCut(startedAgain: string): void {
    for (const pending of [...this.#pending.values()].flat()) {
      if (Date.parse(pending.entry.said.time) >= this.#lastRecordMs - cutMs) pending.startedAgain ??= startedAgain;
    }
  }

  async #checkHead({ chain, n, hash }: AccountHead, record: number): Promise<void> {
    const state = this.#chains.get(chain);
    if (state !== undefined) await this.#readTo(state, n);
    const name = `account-${chain}`;
    if (state === undefined || state.n < n) {
      const last = state?.n ?? 0;
      const isNamed = this.#bad.some(({ file }) => file.startsWith(`${name}-`));
      if (!isNamed)
        this.#bad.push({
          file: `${name}-`,
          line: 1,
          why: `the chain ends at line ${last}, but record ${record} of the audit log names line ${n}`,
        });
      return;
    }
    const known = state.hashes.get(n);
    // Older files of the account may be archived.
    if (known !== undefined && known !== hash && !this.#bad.some(({ file }) => file.startsWith(`${name}-`)))
      this.#bad.push({
        file: `${name}-`,
        line: 1,
        why: `line ${n} of the chain is not the one that record ${record} of the audit log names`,
      });
    for (const older of state.hashes.keys()) {
      if (older >= n) break;
      state.hashes.delete(older);
    }
  }
}

/**
 * Whether each signature of a key must have a record: keys of callers and of authorities,
 * configured or not, and anything that is not a key identifier.
 */
function hasRecords(key: string): boolean {
  try {
    const id = parseKeyId(key);
    return keyOwner(id) === 'caller' || keyPurpose(id) === 'authority' || keyPurpose(id) === 'root';
  } catch {
    return true;
  }
}
