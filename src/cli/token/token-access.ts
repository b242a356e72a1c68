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

/**
 * Uses the token host if it is running, otherwise the module itself.
 * @param extraMs additional time for an answer of the module
 */
export async function withToken(
  configPath: string,
  use: (reports: TokenReports, config: TokenConfig) => Promise<Outcome>,
  extraMs = 0,
): Promise<Outcome> {
  const config = loadTokenConfig(configPath);
  const host = await connectToHost(config.socketPath, answerMs(config));
  if (host !== undefined) {
    try {
      return await use(new TokenReports(host.ask), config);
    } finally {
      host.close();
    }
  }
  const module = openModule(config, configPath, answerMs(config) + extraMs);
  try {
    const outcome = await use(new TokenReports(module.ask), config);
    return { ...outcome, notes: ['the token host is not running; the PKCS#11 module was used directly', ...(outcome.notes ?? [])] };
  } finally {
    module.close();
  }
}
