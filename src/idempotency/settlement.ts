import type { OutcomeKeeper, SettledOutcome } from '../state/settlement.ts';
import { step, type Step } from '../state/step.ts';
import type { RequestSecrets } from './request-secrets.ts';

/** What `keepAnswer` takes. */
interface Keeping {
  readonly id: string;
  readonly claim: string;
  readonly answer: Uint8Array;
  readonly until: number;
}

/** Puts the outcome of a claimed request into the commit that does what it tells of. */
export class Settlement implements OutcomeKeeper {
  readonly #secrets: RequestSecrets;
  readonly #claim: string;
  readonly #keepMs: number;
  readonly #textOf: (outcome: SettledOutcome) => string | undefined;
  /** The text of the outcome that was last given to a commit. */
  said: string | undefined;

  constructor(secrets: RequestSecrets, claim: string, keepMs: number, textOf: (outcome: SettledOutcome) => string | undefined) {
    this.#secrets = secrets;
    this.#claim = claim;
    this.#keepMs = keepMs;
    this.#textOf = textOf;
  }

  async steps(outcome: SettledOutcome): Promise<readonly Step[]> {
    const text = this.#textOf(outcome);
    if (text === undefined) return [];
    const keeping = await this.keeping(text, 'answer' in outcome ? outcome.until : undefined);
    this.said = text;
    return [step('keepAnswer', keeping)];
  }

  async keeping(text: string, until = Number.MAX_SAFE_INTEGER): Promise<Keeping> {
    const answer = await this.#secrets.seal(text);
    return { id: this.#secrets.id, claim: this.#claim, answer, until: Math.min(until, Date.now() + this.#keepMs) };
  }
}
