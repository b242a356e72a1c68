import type { Config } from '../config/config.ts';
import { tokenCustody } from '../keys/custody.ts';
import { Keyring } from '../keys/keyring.ts';
import type { StateStore } from '../state/state-store.ts';
import { leftKeyMetrics, type Metrics } from '../telemetry/metrics.ts';
import type { Logger } from '../telemetry/log.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { Token } from '../token/token.ts';
import { keyOptions, poolTargets } from './key-options.ts';

interface Tools {
  readonly store: StateStore;
  readonly token: Token;
  readonly isTokenBusy: () => boolean;
  readonly threads: WorkThreads;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** The keys of all tenants. What an earlier run left open is finished, and keys are made ahead from now on. `valid`: the configuration at the moment. */
export async function openKeys({ store, token, isTokenBusy, threads, metrics, log }: Tools, valid: () => Config): Promise<Keyring> {
  const keys = new Keyring(store, token, tokenCustody(token), {
    ...keyOptions(valid()),
    log,
    threads,
    pool: { ...metrics.keyPool(), targets: () => poolTargets(valid()), isTokenBusy, log },
  });
  const { finished, kept } = await keys.recover();
  if (finished > 0) log.warn('finished what an earlier run left open', { keys: finished });
  if (kept.length > 0)
    log.error('the state store asks for the destruction of keys that the configuration names; they stay', { keys: kept });
  const unsealed = await store.run('countUnsealedKeys');
  if (unsealed > 0) {
    log.warn(
      'keys have no seal, since an earlier version made them, and are refused: signetctl key remove ends each, new ones are to be made',
      {
        keys: unsealed,
      },
    );
  }
  keys.destruction.startSweeping((count) => {
    log.warn('finished what another instance left open', { keys: count });
  });
  leftKeyMetrics(metrics.registry, () => keys.destruction.left.length);
  keys.startPool();
  return keys;
}
