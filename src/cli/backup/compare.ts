import type { Outcome } from '../outcome.ts';
import { comparedWithToken } from './token-fields.ts';

/** `backup compare`: keys that only the state store or only the token has. */
export async function backupCompare(configPath: string): Promise<Outcome> {
  const { comparison, text, faults, notes } = await comparedWithToken(configPath);
  return { json: comparison, text, faults, notes };
}
