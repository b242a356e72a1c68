import type { SettlementParty, SettledAnswer, SettledOutcome } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import { step, type Step } from '../state/step.ts';
import type { AnswerForm } from './answer-form.ts';
import { placed } from './answer-parts.ts';
import type { RequestSecrets } from './request-secrets.ts';

/** What an outcome is kept with. */
export interface Keeping {
  readonly secrets: RequestSecrets;
  readonly claim: string;
  readonly keepMs: number;
  /** Of the instance that counts what is kept. */
  readonly counter: string;
}

/** Puts the outcome of a claimed request into the commit that does what it tells of. */
export class Settlement implements SettlementParty {
  /** Where no commit settles the request, its outcome is kept by one of its own. */
  readonly needsCommit = false;
  readonly #store: StateStore;
  readonly #keeping: Keeping;
  readonly #formOf: (outcome: SettledOutcome) => AnswerForm | undefined;
  /** The outcome that was last given to a commit. */
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
   * Keeps a form as the answer: until a moment, or while a one-time password is open, if it is
   * worth nothing afterwards.
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
