import type { Config } from '../config/config.ts';
import { ConfigError } from '../config/config-error.ts';
import type { KeyType } from '../config/key-types.ts';
import type { KeyringOptions } from '../keys/keyring-options.ts';
import type { MacKeyOptions } from '../keys/mac-key.ts';
import type { Logger } from '../telemetry/log.ts';
import type { TokenClient } from '../token/client/token-client.ts';
import { missingKeyTypes } from '../token/wire/probe-report.ts';

/** A tenant whose keys the token cannot make would only find out by its first request. */
export function checkKeyTypes({ tenants }: Config, { probe }: TokenClient): void {
  if (probe === undefined) return;
  const missing = missingKeyTypes(
    probe,
    Object.values(tenants).map(({ profile }) => profile.keyType),
  );
  const faults = Object.entries(tenants)
    .filter(([, { profile }]) => missing.includes(profile.keyType))
    .map(([name, { profile }]) => `tenants.${name}.profile.keyType: the token cannot use ${profile.keyType} keys`);
  if (faults.length > 0) throw new ConfigError([...faults, ...probe.limits].join('\n'));
}

/**
 * A call that ran into its time is sent once more, and other servers have theirs before a secret of
 * one use is settled; what takes longer than all of it went down with its instance.
 */
export function keyOptions(config: Config): KeyringOptions {
  const { outgoing, state, token } = config;
  const attemptMaxMs = 1000 * (2 * token.callTimeoutSeconds + outgoing.totalSeconds + outgoing.timeoutSeconds) + 30_000;
  const attemptWaitMs = 1000 * token.callTimeoutSeconds;
  return {
    configured: keysOf(config),
    attemptMaxMs,
    attemptWaitMs,
    ...(state.kind === 'sqlite' ? {} : { abandonedMs: 1000 * state.abandonedStepSeconds }),
  };
}

/** Keys are made ahead of the types that tenants' profiles ask for. */
export function poolTargets({ tenants, keyPool }: Config): ReadonlyMap<KeyType, number> {
  const types = Object.values(tenants).map(({ profile }) => profile.keyType);
  return new Map(types.map((type) => [type, keyPool.keysByType[type] ?? keyPool.keys]));
}

/** The service keys that the configuration names: nobody destroys them. */
export function keysOf({ certificateAuthorities, timeStampAuthority }: Config): string[] {
  const own = timeStampAuthority === undefined ? [] : [timeStampAuthority.keyId];
  return [
    ...Object.values(certificateAuthorities)
      .filter(({ retired }) => !retired)
      .map(({ keyId }) => keyId),
    ...own,
  ];
}

/**
 * The instance that may make the MAC key sends two requests to the token, each with its own time
 * limit.
 */
export function macKeyOptions({ token }: Config, log: Logger): MacKeyOptions {
  return { label: token.label, claimMs: 4 * 1000 * token.callTimeoutSeconds, log };
}
