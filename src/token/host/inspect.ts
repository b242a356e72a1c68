import type { TokenConfig } from '../../config/config.ts';
import { readSecret } from '../../config/secret-reference.ts';
import type { ProbeReport } from '../probe-report.ts';
import { isolated } from './isolation.ts';
import { loadProfile, modulePath, type ModuleProfile } from './module-profile.ts';
import { probeToken } from './probe.ts';
import { loadModule, logIn, openSession, slotOf } from './session.ts';
import { checkStartConditions } from './start-conditions.ts';

/** What a host needs before it starts its threads: the profile, the PIN, and the file to load. */
export interface Prepared {
  readonly profile: ModuleProfile;
  readonly pin: string;
  readonly modulePath: string;
}

/** Checks the configuration against the profile. Runs on the main thread. @throws {ConfigError} */
export function prepare(config: TokenConfig): Prepared {
  const profile = loadProfile(config.profile);
  const pin = readSecret(config.pin);
  checkStartConditions(config, profile, process.env, pin);
  const path = modulePath(config, profile);
  return { profile, pin, modulePath: config.isolateModule ? isolated(path) : path };
}

/** Tries everything on the token, in this process and without a host; for an operator, while no host runs. Takes seconds, for the RSA keys. */
export function inspectToken(config: TokenConfig): ProbeReport {
  const prepared = prepare(config);
  const module = loadModule(prepared.modulePath);
  const slot = slotOf(module, config.label);
  logIn(openSession(module, slot), prepared.pin);
  return probeToken(openSession(module, slot), slot, prepared.profile, { full: true }).report;
}
