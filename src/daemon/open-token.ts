import type { Audit } from '../audit/audit.ts';
import { recordingToken } from '../audit/use-recorder.ts';
import type { Config } from '../config/config.ts';
import { establishMacKey, type MacKeyInForce } from '../keys/mac-key.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { outcomeOf } from '../token/client/answers.ts';
import { TokenClient } from '../token/client/token-client.ts';
import { TokenUnavailable, type Token } from '../token/token.ts';
import { checkKeyTypes, macKeyOptions } from './key-options.ts';
import type { Parts } from './parts.ts';

/**
 * Uses of the token that belong to no request. Those from before the audit log is open are kept
 * until it is.
 */
export class OutsideUses {
  #early: string[] = [];
  #audit: Pick<Audit, 'useOutside'> | undefined;

  tell(use: string): void {
    if (this.#audit === undefined) this.#early.push(use);
    else this.#audit.useOutside(use);
  }

  /** From now on uses are recorded, first those that were kept. */
  recordIn(audit: Pick<Audit, 'useOutside'>): void {
    this.#audit = audit;
    for (const use of this.#early.splice(0)) audit.useOutside(use);
  }
}

export interface OpenedToken {
  readonly token: TokenClient;
  /** The same token; each use is recorded with the request or command that it is for. */
  readonly recordedToken: Token;
  readonly outsideUses: OutsideUses;
  readonly macKey: MacKeyInForce;
}

/**
 * Starts the token host and checks that the token can do what the configuration asks of it.
 * @param without called if a host that is started elsewhere does not serve
 * @throws {Error} where it cannot
 */
export async function openToken(
  config: Config,
  configPath: string,
  { parts, store, metrics, log }: { readonly parts: Parts; readonly store: StateStore; readonly metrics: Metrics; readonly log: Logger },
  without: (token: TokenClient, cause: TokenUnavailable) => Promise<never>,
): Promise<OpenedToken> {
  const calls = metrics.tokenCalls();
  const token = new TokenClient(config.token, configPath, log, (operation, status, waitedMs, tokenMs) => {
    calls.served(operation, outcomeOf(status), waitedMs, tokenMs);
  });
  parts.opened('token', token, async () => token.stop());
  metrics.tokenState({ ready: () => token.ready, full: () => token.isFull, waiting: () => token.waiting });
  try {
    await token.start();
  } catch (error) {
    // A host that this process starts ends with it, and so does the attempt.
    if (!(error instanceof TokenUnavailable) || config.token.host === 'spawn') throw error;
    await without(token, error);
  }
  const macKey = await establishMacKey(store, token, macKeyOptions(config, log));
  checkKeyTypes(config, token);
  const outsideUses = new OutsideUses();
  const recordedToken = recordingToken(token, (use) => {
    outsideUses.tell(use);
  });
  return { token, recordedToken, outsideUses, macKey };
}
