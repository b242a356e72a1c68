import type { SettlementParty, SettledAnswer, SettledOutcome } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import { step, type Step } from '../state/step.ts';
import type { AnswerForm } from './answer-form.ts';
import { placed } from './answer-parts.ts';
import type { RequestSecrets } from './request-secrets.ts';

/** Data for keeping an outcome. */
export interface Keeping {
  readonly secrets: RequestSecrets;
  readonly claim: string;
  readonly keepMs: number;
  /** Counter of the instance for kept bytes. */
  readonly counter: string;
}

/** Adds the outcome of a claimed request to the commit that makes its change. */
export class Settlement implements SettlementParty {
  /** If no commit settles the request, its outcome is kept by a separate commit. */
  readonly needsCommit = false;
  readonly #store: StateStore;
  readonly #keeping: Keeping;
  readonly #formOf: (outcome: SettledOutcome) => AnswerForm | undefined;
  /** The outcome that was last added to a commit. */
  said: AnswerForm | undefined;

  constructor(store: StateStore, keeping: Keeping, form: (outcome: SettledOutcome) => AnswerForm | undefined) {
    this.#store = store;
    this.#keeping = keeping;
    this.#formOf = form;
  }

  async steps(outcome: SettledOutcome): Promise<readonly Step[]> {
    const form = this.#formOf(outcome);
    if (form === undefined) return [];
    const keeping = await this.keeping(form, 'answer' in outcome ? outcome : {});
    this.said = form;
    return [keeping];
  }

  /**
   * Returns the steps that keep a form as the answer: until a given time, or while a one-time
   * password is open, if it is worthless afterwards.
   */
  async keeping(
    form: AnswerForm,
    { until = Number.MAX_SAFE_INTEGER, whileOtp }: Pick<SettledAnswer, 'until' | 'whileOtp'> = {},
  ): Promise<Step<'keepAnswer'>> {
    const { secrets, claim, keepMs, counter } = this.#keeping;
    const where = await placed(this.#store, secrets, claim, form);
    return step('keepAnswer', { id: secrets.id, claim, ...where, whileOtp, counter, until: Math.min(until, this.#store.now() + keepMs) });
  }
}
