import type { TokenConfig } from '../../config/token-config.ts';
import { readSecretBytes } from '../../config/secret-reference.ts';
import { isolated } from './isolation.ts';
import { loadProfile, modulePath, type ModuleProfile } from './module-profile.ts';
import { checkStartConditions } from './start-conditions.ts';

/** What a host needs before it starts its threads: the profile, the PIN, and the file to load. */
export interface Prepared {
  readonly profile: ModuleProfile;
  /** Wiped by who logs in with it. */
  readonly pin: Uint8Array;
  readonly modulePath: string;
}

/**
 * Checks the configuration against the profile. Runs on the main thread.
 * @param pinOwner whose file the PIN may be: an operator is root, and the PIN the service's; @throws {ConfigError}
 */
export function prepare(config: TokenConfig, pinOwner: 'self' | 'anyone' = 'self'): Prepared {
  const profile = loadProfile(config.profile);
  // A daemon that starts the host has set them already; under systemd nobody has. Modules read the environment of the process.
  Object.assign(process.env, config.environment);
  const pin = readSecretBytes(config.pin, pinOwner);
  checkStartConditions(config, profile, process.env, pin);
  return { profile, pin, modulePath: fileToLoad(config, profile) };
}

/** The module, or what stands for it where it is isolated. Runs on the main thread. @throws {ConfigError} */
export function fileToLoad(config: TokenConfig, profile: ModuleProfile): string {
  const path = modulePath(config, profile);
  return config.isolateModule ? isolated(path) : path;
}
