import { loadTokenConfig } from '../../config/config.ts';
import { accountDirectoryOf } from '../../config/token-config.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { RefusedPin } from '../../token/host/refused-pin.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';

/**
 * `token retry-pin`: forgets that the token refused the PIN, for when the PIN is right by now: the
 * security officer has set it, or unlocked it, without changing it.
 */
export async function tokenRetryPin(configPath: string): Promise<Outcome> {
  const directory = accountDirectoryOf(loadTokenConfig(configPath));
  const wasKept = forgotten(directory);
  const text = wasKept
    ? 'The next start of the token host tries the PIN once more: systemctl restart signetd-token.service\n'
    : `No refused PIN is kept in ${directory}.\n`;
  return Promise.resolve({ json: { wasKept }, text });
}

function forgotten(directory: string): boolean {
  try {
    return new RefusedPin(directory, 'own').forget();
  } catch (error) {
    throw new CommandError(exitCodes.refused, `token.accountDirectory: ${reasonOf(error)}`);
  }
}
