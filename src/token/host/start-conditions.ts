import { existsSync } from 'node:fs';
import { ConfigError } from '../../config/config.ts';
import type { TokenConfig } from '../../config/token-config.ts';
import type { ModuleProfile } from './module-profile.ts';
import { hasForm } from './pin.ts';
import { anchorSessions } from './session-limit.ts';

/** Checks what can be known before the module is loaded. @throws {ConfigError} with one line a fault. */
export function checkStartConditions(config: TokenConfig, profile: ModuleProfile, environment: NodeJS.ProcessEnv, pin: Uint8Array): void {
  const faults = [...sessionFaults(config.threads, profile), ...environmentFaults(profile, environment), ...pinFaults(profile, pin)];
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
}

/** More threads than the vendor allows sessions. */
export function sessionFaults(threads: number, { vendor, sessionLimit }: ModuleProfile): string[] {
  if (sessionLimit === undefined || threads + anchorSessions <= sessionLimit) return [];
  return [
    `token.threads: ${threads} threads need ${threads + anchorSessions} sessions (one more holds the login), and ${vendor} allows ${sessionLimit}: at most ${sessionLimit - anchorSessions} threads`,
  ];
}

/** Variables that the module needs and that are not there. */
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

/** Why this cannot be the PIN: each refusal brings the token nearer to its lock, so it is not tried. */
export function pinFaults({ vendor, pin: shape }: ModuleProfile, pin: Uint8Array): string[] {
  if (shape === undefined || hasForm(shape.pattern, pin)) return [];
  return [`token.pin: ${vendor} wants ${shape.form}; what the reference points to has another form, and is not tried`];
}
