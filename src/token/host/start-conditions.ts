import { existsSync } from 'node:fs';
import { ConfigError } from '../../config/config-error.ts';
import type { TokenConfig } from '../../config/token-config.ts';
import type { ModuleProfile } from './module-profile.ts';
import { hasForm } from './pin.ts';

/**
 * Checks everything that can be checked before the module is loaded.
 * @throws {ConfigError} with one line for each fault
 */
export function checkStartConditions(config: TokenConfig, profile: ModuleProfile, environment: NodeJS.ProcessEnv, pin: Uint8Array): void {
  const faults = [
    ...sessionFaults(threadsOf(config, profile), profile),
    ...environmentFaults(profile, environment),
    ...pinFaults(profile, pin),
  ];
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
}

/** Returns how many threads a host has with this configuration and this module. */
export function threadsOf({ threads }: Pick<TokenConfig, 'threads'>, { threadsMax }: ModuleProfile): number {
  return Math.min(threads, threadsMax ?? threads);
}

/** Reports more threads than the vendor allows sessions. */
export function sessionFaults(threads: number, { vendor, sessionLimit }: ModuleProfile): string[] {
  if (sessionLimit === undefined || threads + anchorSessions <= sessionLimit) return [];
  return [
    `token.threads: ${threads} threads need ${threads + anchorSessions} sessions (one more holds the login), and ${vendor} allows ${sessionLimit}: at most ${sessionLimit - anchorSessions} threads`,
  ];
}

/** Reports variables that the module needs and that are not set. */
export function environmentFaults(
  { vendor, environment: variables }: ModuleProfile,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  return variables
    .filter(({ name, defaultPaths }) => !environment[name] && !defaultPaths.some((path) => existsSync(path)))
    .map(({ name, defaultPaths }) => {
      const otherwise = defaultPaths.length === 0 ? '' : `, and there is no ${defaultPaths.join(' or ')} either`;
      return `token.environment: ${vendor} finds its configuration by the variable ${name}, which is not set${otherwise}`;
    });
}

/**
 * Reports a PIN of the wrong form, which is not tried: each refusal brings the token closer to
 * being locked.
 */
export function pinFaults({ vendor, pin: shape }: ModuleProfile, pin: Uint8Array): string[] {
  if (shape === undefined || hasForm(shape.pattern, pin)) return [];
  return [`token.pin: ${vendor} requires ${shape.form}; the PIN at the reference has another form and is not tried`];
}

/** One extra session holds the login. */
export const anchorSessions = 1;

/**
 * Checks the limit that the token reports (CK_TOKEN_INFO.ulMaxRwSessionCount): 0 is no limit, all
 * bits set is unknown (PKCS#11 §3.2).
 */
export function tokenSessionFault(threads: number, maxRwSessionCount: number): string | undefined {
  if (maxRwSessionCount <= 0 || maxRwSessionCount >= 0xffffffff || threads + anchorSessions <= maxRwSessionCount) return undefined;
  return `token.threads: ${threads} threads need ${threads + anchorSessions} sessions (one more holds the login), and the token allows ${maxRwSessionCount}`;
}
