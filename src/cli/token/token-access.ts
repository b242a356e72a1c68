import { loadTokenConfig } from '../../config/config.ts';
import type { TokenConfig } from '../../config/token-config.ts';
import { connectToHost } from '../../token/operator/host-questions.ts';
import { openModule } from '../../token/operator/module-questions.ts';
import { TokenReports } from '../../token/operator/token-reports.ts';
import type { Outcome } from '../outcome.ts';

/**
 * The host or the module ends a call at its own time-out; after this margin no answer can arrive.
 */
const marginMs = 5000;

/** Returns the maximum time for an answer. */
export function answerMs({ callTimeoutSeconds }: TokenConfig): number {
  return callTimeoutSeconds * 1000 + marginMs;
}

/** Answer of the token. `direct`: the token host is not running, and the module was used itself. */
export interface TokenAnswer<T> {
  readonly value: T;
  readonly direct: boolean;
}

/**
 * Uses the token host if it is running, otherwise the module itself.
 * @param extraMs additional time for an answer of the module
 * @throws {TokenFailure}
 */
export async function askToken<T>(
  configPath: string,
  use: (reports: TokenReports, config: TokenConfig) => Promise<T>,
  extraMs = 0,
): Promise<TokenAnswer<T>> {
  const config = loadTokenConfig(configPath);
  const host = await connectToHost(config.socketPath, answerMs(config));
  if (host !== undefined) {
    try {
      return { value: await use(new TokenReports(host.ask), config), direct: false };
    } finally {
      host.close();
    }
  }
  const module = await openModule(config, configPath, answerMs(config) + extraMs);
  try {
    return { value: await use(new TokenReports(module.ask), config), direct: true };
  } finally {
    module.close();
  }
}

/** The same for a command that does nothing else. */
export async function withToken(
  configPath: string,
  use: (reports: TokenReports, config: TokenConfig) => Promise<Outcome>,
  extraMs = 0,
): Promise<Outcome> {
  const { value, direct } = await askToken(configPath, use, extraMs);
  return direct ? { ...value, notes: [usedDirectly, ...(value.notes ?? [])] } : value;
}

export const usedDirectly = 'the token host is not running; the PKCS#11 module was used directly';
