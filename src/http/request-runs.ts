import { Deliveries } from '../documents/deliveries.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Ending } from './recorded.ts';
import { Problem } from './problem.ts';

interface Run {
  readonly deliveries: Deliveries;
  answer: object | undefined;
}

/**
 * The runs of one request: one, or more where it has an Idempotency-Key and lost its claim. What a run delivered stays where its answer is the one that counts,
 * and is taken back otherwise.
 */
export class RequestRuns {
  readonly #runs: Run[] = [];
  #counts: Ending | Problem | undefined;
  #outlivesAnswer = false;

  async run(work: (deliveries: Deliveries) => Promise<object>): Promise<object> {
    const run: Run = { deliveries: new Deliveries(), answer: undefined };
    this.#runs.push(run);
    run.answer = await work(run.deliveries);
    return run.answer;
  }

  /** How the request ends. `outlivesAnswer`: a repetition is answered likewise, even if this answer does not leave. */
  ends(ending: Ending | Problem, outlivesAnswer: boolean): void {
    this.#counts = ending;
    this.#outlivesAnswer = outlivesAnswer;
  }

  /** `answered`: what the caller is answered in the end. */
  async settle(answered: Ending | Problem | undefined, log: Logger): Promise<void> {
    const isAnswered = answered !== undefined && isSuccess(answered);
    for (const { deliveries, answer } of this.#runs) {
      if (deliveries.areNone) continue;
      await deliveries.end(this.#counted(answer) && (isAnswered || this.#outlivesAnswer), log);
    }
  }

  #counted(answer: object | undefined): boolean {
    if (answer === undefined || this.#counts === undefined) return false;
    if (isSuccess(this.#counts)) return JSON.stringify(answer) === JSON.stringify(this.#counts.answer);
    // The state store went away over the commit. If that was done, a repetition is answered by it, and what it names has to be there.
    return this.#outlivesAnswer && this.#counts instanceof Problem && this.#counts.status === 503;
  }
}

function isSuccess(ending: Ending | Problem): ending is Ending {
  return !(ending instanceof Problem) && ending.result.major === 0;
}
