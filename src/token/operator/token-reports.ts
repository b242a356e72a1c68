import type { ProbeReport } from '../wire/probe-report.ts';
import {
  reportAnswers,
  type MechanismsReport,
  type ObjectReport,
  type ReportAnswer,
  type ReportName,
  type SlotReport,
} from '../wire/reports.ts';
import { TokenFailure } from './token-failure.ts';

/**
 * Asks the token one question, through the host or through a process of our own.
 * @throws {TokenFailure}
 */
export type AskToken = (name: ReportName, question: object) => Promise<unknown>;

export interface Inventory {
  readonly objects: readonly ObjectReport[];
  /** Number of objects that are not signetd's, by kind. */
  readonly foreign: Readonly<Record<string, number>>;
}

/** Reports on the token for operators. Every method rejects with a TokenFailure. */
export class TokenReports {
  readonly #ask: AskToken;

  constructor(ask: AskToken) {
    this.#ask = ask;
  }

  async slots(): Promise<readonly SlotReport[]> {
    return this.#answer('reportSlots', {});
  }

  /** @param slot decimal; if absent, the slot of the configured token */
  async mechanisms(slot?: string): Promise<MechanismsReport> {
    return this.#answer('reportMechanisms', slot === undefined ? {} : { slot });
  }

  /** @param progress receives the number of objects read so far */
  async inventory(progress?: (objects: number) => void): Promise<Inventory> {
    const objects: ObjectReport[] = [];
    const foreign: Record<string, number> = {};
    let from: string | null | undefined;
    do {
      const page = await this.#answer('reportInventory', from === undefined ? {} : { from });
      objects.push(...page.objects);
      for (const [kind, count] of Object.entries(page.foreign)) foreign[kind] = (foreign[kind] ?? 0) + count;
      from = page.next;
      progress?.(objects.length + Object.values(foreign).reduce((sum, count) => sum + count, 0));
    } while (from !== null);
    return { objects, foreign };
  }

  /** @param full makes and tries keys of every type; a serving host refuses it */
  async probe(full: boolean): Promise<ProbeReport> {
    return this.#answer('reportProbe', { full });
  }

  async #answer<N extends ReportName>(name: N, question: object): Promise<ReportAnswer<N>> {
    const parsed = reportAnswers[name].safeParse(await this.#ask(name, question));
    if (!parsed.success)
      throw new TokenFailure('unreachable', "this version does not understand the token host's answer; restart the host");
    // zod's type of a schema chosen by a type parameter is the union of them all.
    return parsed.data as ReportAnswer<N>;
  }
}
