import type { Audit } from '../audit/audit.ts';
import type { Config } from '../config/config.ts';
import { Keyring } from '../keys/keyring.ts';
import type { MacKeyInForce } from '../keys/mac-key.ts';
import { RemovedKeys } from '../keys/removed-keys.ts';
import type { StateStore } from '../state/state-store.ts';
import { leftKeyMetrics, secretMetrics, type Metrics } from '../telemetry/metrics.ts';
import type { Logger } from '../telemetry/log.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { Token } from '../token/token.ts';
import { keyOptions, poolTargets } from './key-options.ts';
import type { Parts } from './parts.ts';

interface Tools {
  readonly store: StateStore;
  readonly token: Token;
  readonly macKey: MacKeyInForce;
  readonly isTokenBusy: () => boolean;
  readonly threads: WorkThreads;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly audit: Pick<Audit, 'refuseSecret'>;
}

/**
 * Opens the keys of all tenants, and finishes what an earlier run left open. `inForce`: returns the
 * configuration in force.
 */
export async function openKeys(
  { store, token, macKey, isTokenBusy, threads, metrics, log, audit }: Tools,
  inForce: () => Config,
): Promise<Keyring> {
  const secrets = secretMetrics(metrics.registry);
  const keys = new Keyring(store, token, {
    ...keyOptions(inForce()),
    macKey,
    log,
    threads,
    pace: {
      limits: () => inForce().limits,
      counted: secrets.wrong,
      refused: (scope, { name, tenant, spkiSha256 }) => {
        secrets.paced(scope);
        const client = { client: name, tenant, spki: spkiSha256.slice(0, 16) };
        audit.refuseSecret({ reason: `more than the ${scope} may send`, ...(scope === 'client' ? client : { tenant }) });
      },
    },
    pool: { ...metrics.keyPool(), targets: () => poolTargets(inForce()), isTokenBusy, log },
  });
  const { finished, kept } = await keys.recover();
  if (finished > 0) log.warn('finished what an earlier run left open', { keys: finished });
  if (kept.length > 0)
    log.error('the state store asks for the destruction of keys of the configuration or of digital identities; they stay', { keys: kept });
  const unsealed = await store.run('countUnsealedKeys');
  if (unsealed > 0) {
    log.warn(
      'keys have no seal, since an earlier version made them, and are refused: signetctl key remove ends each, new ones are to be made',
      {
        keys: unsealed,
      },
    );
  }
  leftKeyMetrics(metrics.registry, () => keys.destruction.left.length);
  return keys;
}

interface Upkeep {
  readonly parts: Parts;
  readonly log: Logger;
  readonly store: StateStore;
  readonly token: Token;
}

/**
 * From now on keys are made ahead, what another instance leaves open is finished, and removed keys
 * that the token still has are destroyed.
 */
export function startKeyUpkeep(keys: Keyring, { parts, log, store, token }: Upkeep): void {
  const removed = new RemovedKeys({ store, token, destruction: keys.destruction, log });
  removed.start();
  keys.destruction.startSweeping((count) => {
    log.warn('finished what another instance left open', { keys: count });
  });
  keys.startPool();
  parts.opened('upkeep of keys', keys, async () => {
    removed.stop();
    keys.destruction.stopSweeping();
    await keys.stopPool();
  });
}
