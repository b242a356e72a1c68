import type { OutcomeKeeper, SettledAnswer, SettledOutcome } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import { step, type Step } from '../state/step.ts';
import { placed } from './answer-parts.ts';
import type { RequestSecrets } from './request-secrets.ts';

/** Puts the outcome of a claimed request into the commit that does what it tells of. */
export class Settlement implements OutcomeKeeper {
  readonly #store: StateStore;
  readonly #secrets: RequestSecrets;
  readonly #claim: string;
  readonly #keepMs: number;
  readonly #textOf: (outcome: SettledOutcome) => string | undefined;
  /** The text of the outcome that was last given to a commit. */
  said: string | undefined;

  constructor(
    store: StateStore,
    { secrets, claim, keepMs }: { readonly secrets: RequestSecrets; readonly claim: string; readonly keepMs: number },
    textOf: (outcome: SettledOutcome) => string | undefined,
  ) {
    this.#store = store;
    this.#secrets = secrets;
    this.#claim = claim;
    this.#keepMs = keepMs;
    this.#textOf = textOf;
  }

  async steps(outcome: SettledOutcome): Promise<readonly Step[]> {
    const text = this.#textOf(outcome);
    if (text === undefined) return [];
    const keeping = await this.keeping(text, 'answer' in outcome ? outcome : {});
    this.said = text;
    return [keeping];
  }

  /** Keeps a text as the answer: until a moment, or while a one-time password is open, if it is worth nothing afterwards. */
  async keeping(
    text: string,
    { until = Number.MAX_SAFE_INTEGER, whileOtp }: Pick<SettledAnswer, 'until' | 'whileOtp'> = {},
  ): Promise<Step<'keepAnswer'>> {
    const { id } = this.#secrets;
    const claim = this.#claim;
    const where = await placed(this.#store, id, claim, await this.#secrets.seal(text));
    return step('keepAnswer', { id, claim, ...where, whileOtp, until: Math.min(until, this.#store.now() + this.#keepMs) });
  }
}
