import { z } from 'zod';
import { lacksPurpose, parseKeyId, type KeyId } from '../../token/key-id.ts';
import { KeyGone, TokenUnavailable } from '../../token/token.ts';
import { assignablePurposes, type AssignablePurpose } from '../../token/wire/messages.ts';
import { withOperatorToken } from '../ca/token-work.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';

export const PurposeOptions = z.strictObject({ keyId: z.string(), purpose: z.string() });

/**
 * `token purpose`: assigns a purpose to a key from before keys had purposes, and prints its new
 * CKA_ID.
 */
export async function tokenPurpose(configPath: string, options: z.output<typeof PurposeOptions>): Promise<Outcome> {
  const before = keyIdOf(options.keyId);
  const purpose = purposeOf(options.purpose);
  const keyId = await withOperatorToken(configPath, 'token purpose', async (token) =>
    token.assignPurpose(before, purpose).catch((error: unknown) => {
      const isAway = error instanceof TokenUnavailable && !(error instanceof KeyGone);
      // That nobody recorded or approved it is said already.
      const isSaid = error instanceof CommandError;
      throw isAway || isSaid || !(error instanceof Error) ? error : new CommandError(exitCodes.refused, error.message);
    }),
  );
  const json = { keyId, purpose };
  return { json, text: fields(Object.entries(json)), notes: [`replace ${before} with this keyId in the configuration`] };
}

function keyIdOf(text: string): KeyId {
  try {
    const id = parseKeyId(text);
    if (lacksPurpose(id)) return id;
  } catch {
    // Reported below.
  }
  throw new CommandError(exitCodes.usage, '--key-id takes the CKA_ID of a key made by an earlier version, which begins with 53');
}

function purposeOf(text: string): AssignablePurpose {
  const purpose = assignablePurposes.find((each) => each === text);
  if (purpose === undefined) throw new CommandError(exitCodes.usage, `--purpose takes one of ${assignablePurposes.join(', ')}`);
  return purpose;
}
