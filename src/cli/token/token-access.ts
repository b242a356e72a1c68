import { loadTokenConfig } from '../../config/config.ts';
import type { TokenConfig } from '../../config/token-config.ts';
import { connectToHost } from '../../token/operator/host-questions.ts';
import { openModule } from '../../token/operator/module-questions.ts';
import { TokenReports } from '../../token/operator/token-reports.ts';
import type { Outcome } from '../outcome.ts';

/** The host or the module ends a call at its own time-out; this much later nothing comes any more. */
const marginMs = 5000;

/** How long an answer may take. */
export function answerMs({ callTimeoutSeconds }: TokenConfig): number {
  return callTimeoutSeconds * 1000 + marginMs;
}

/**
 * Asks the token host where it runs, and the module itself only where it does not.
 * @param extraMs how much longer than a call an answer of the module may take
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
    return { ...outcome, notes: ['the token host does not run; the PKCS#11 module was asked', ...(outcome.notes ?? [])] };
  } finally {
    module.close();
  }
}
