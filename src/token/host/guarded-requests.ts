import { faultKindOf } from '../pkcs11-faults.ts';
import { operations, type Frame } from '../wire/frames.ts';
import { failed, lost, type Answer } from './answer.ts';
import type { HostHealth } from './host-health.ts';
import { pkcs11Code } from './session.ts';

/** Operations that make a key. */
const creations: ReadonlySet<number> = new Set([operations.createKey, operations.createMessageKey, operations.makeMacKey]);
/** Operations that the host carries out without the token. */
const withoutToken: ReadonlySet<number> = new Set([operations.listKeys, operations.accountHeads, operations.reportProbe]);

/** Answers requests also where they fail, and tells whether another host must take over. */
export class GuardedRequests {
  readonly #run: (frame: Frame) => Answer;
  readonly #health: HostHealth;
  readonly #replaceableFromMs: number;

  /**
   * @param run carries out a request. It throws what the token answers.
   * @param health of the thread
   * @param pauseMs how long this host serves before it may be replaced for a fault of unknown kind
   */
  constructor(run: (frame: Frame) => Answer, health: HostHealth, pauseMs: number) {
    this.#run = run;
    this.#health = health;
    this.#replaceableFromMs = performance.now() + pauseMs;
  }

  execute(frame: Frame): Answer {
    try {
      return this.#served(frame);
    } catch (error) {
      return this.#afterFault(frame, error);
    }
  }

  #served(frame: Frame): Answer {
    const answer = this.#run(frame);
    if (!withoutToken.has(frame.code)) this.#health.succeeded();
    return answer;
  }

  /**
   * After an error that does not tell whether the host still serves, it goes on in a new session,
   * where a trial shows that, and the request is repeated once: an operation that was started and
   * never finished, or cancelled, may have been in its way. A key is never made twice.
   */
  #afterFault(frame: Frame, error: unknown): Answer {
    const makesKey = creations.has(frame.code);
    const kind = kindOf(error, makesKey);
    if (kind === 'lost') return lost(error);
    if (kind !== 'unknown') return failed(error);
    if (!this.#health.stillServes()) return performance.now() < this.#replaceableFromMs ? failed(error) : lost(error);
    if (makesKey) return failed(error);
    try {
      return this.#served(frame);
    } catch (again) {
      return kindOf(again, makesKey) === 'lost' ? lost(again) : failed(again);
    }
  }
}

/** Returns undefined for an error that is not the token's. */
function kindOf(error: unknown, makesKey: boolean): ReturnType<typeof faultKindOf> | undefined {
  const code = pkcs11Code(error);
  return code === undefined ? undefined : faultKindOf(code, { makesKey });
}
