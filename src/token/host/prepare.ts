import type { TokenConfig } from '../../config/token-config.ts';
import { readSecretBytes } from '../../config/secret-reference.ts';
import { loadProfile, modulePath, type ModuleProfile } from './module-profile.ts';
import { checkStartConditions } from './start-conditions.ts';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '../../config/config-error.ts';

/** Everything that a host needs before it starts its threads: profile, PIN, and file to load. */
export interface Prepared {
  readonly profile: ModuleProfile;
  /** Wiped by the code that logs in with it. */
  readonly pin: Uint8Array;
  readonly modulePath: string;
}

/**
 * Checks the configuration against the profile. Runs on the main thread.
 * @param pinOwner permitted owner of the PIN file: an operator runs as root, but the file is the
 * service's
 * @throws {ConfigError}
 */
export function prepare(config: TokenConfig, pinOwner: 'self' | 'anyone' = 'self'): Prepared {
  const profile = loadProfile(config.profile);
  // The daemon sets them when it starts the host; systemd does not. Modules read the process
  // environment.
  Object.assign(process.env, config.environment);
  const pin = readSecretBytes(config.pin, pinOwner);
  checkStartConditions(config, profile, process.env, pin);
  return { profile, pin, modulePath: fileToLoad(config, profile) };
}

/**
 * Returns the path of the module, or of the shim that isolates it. Runs on the main thread.
 * @throws {ConfigError}
 */
export function fileToLoad(config: TokenConfig, profile: ModuleProfile): string {
  const path = modulePath(config, profile);
  return config.isolateModule || profile.isolateModule ? isolated(path) : path;
}

/** Built by packaging/bootstrap.sh from native-config/isolation/isolate-module.c. */
const shim = fileURLToPath(new URL('../../../dist/isolate-module.so', import.meta.url));

/**
 * Returns the path to load instead of the module, so that the module binds to its own libraries and
 * not to the OpenSSL that Node exports. It must be called on the main thread before others exist:
 * the shim reads the process environment, not that of a worker thread.
 * @throws {ConfigError} if the shim is not built
 */
function isolated(path: string): string {
  if (!existsSync(shim)) throw new ConfigError(`isolateModule: ${shim} is missing; the build makes it (sh packaging/bootstrap.sh)`);
  process.env['SIGNETD_ISOLATED_MODULE'] = path;
  return shim;
}
