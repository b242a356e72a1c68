import { Deliveries } from '../../documents/deliveries.ts';
import { withPaths, type Publications } from '../../documents/publications.ts';
import type { Context } from '../../operations/operation.ts';
import { settlingWith } from '../../state/settlement.ts';
import type { Logger } from '../../telemetry/log.ts';
import { successWith, type ResultValues } from './answer.ts';
import type { Ending } from './recorded.ts';

interface Run extends Pick<Context, 'deliveries' | 'notices'> {
  isDone: boolean;
}

/**
 * The runs of one request: one, or more where it has an Idempotency-Key and lost its claim. The
 * commits of a run that lost do nothing, so what they would have delivered is not due.
 */
export class RequestRuns {
  readonly #publications: Publications;
  readonly #request: string;
  readonly #runs: Run[] = [];

  /** `request`: the service's own identifier of the request. */
  constructor(publications: Publications, request: string) {
    this.#publications = publications;
    this.#request = request;
  }

  async run(work: (run: Pick<Context, 'deliveries' | 'notices'>) => Promise<object>): Promise<object> {
    const run: Run = { deliveries: new Deliveries(this.#publications, this.#request), notices: [], isDone: false };
    this.#runs.push(run);
    const answer = await settlingWith(run.deliveries, async () => work(run));
    run.isDone = true;
    return answer;
  }

  /** Result of the last run, if it succeeds. */
  get success(): ResultValues {
    return successWith(this.#runs.at(-1)?.notices ?? []);
  }

  /** Names what the last run delivers, where it delivers something outside of its answer. */
  get publication(): string | undefined {
    const deliveries = this.#runs.at(-1)?.deliveries;
    return deliveries?.needsCommit === true ? deliveries.id : undefined;
  }

  /**
   * Publishes what a successful request delivers, once its record is on the disk. Returns the
   * ending with the paths of the files.
   */
  async publish(ending: Ending): Promise<Ending> {
    let { answer } = ending;
    for (const { deliveries, isDone } of this.#runs) {
      if (isDone && deliveries.needsCommit) answer = withPaths(answer, await deliveries.publish());
    }
    return answer === ending.answer ? ending : { ...ending, answer };
  }

  /** `outlivesAnswer`: what is due stays, for a repetition, even if this answer does not leave. */
  async end({ outlivesAnswer }: { readonly outlivesAnswer: boolean }, log: Logger): Promise<void> {
    for (const { deliveries } of this.#runs) {
      if (deliveries.isEmpty) continue;
      try {
        await deliveries.end({ staysDue: outlivesAnswer });
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        log.error('evidence of a request that failed could not be removed', { reason });
      }
    }
  }
}
