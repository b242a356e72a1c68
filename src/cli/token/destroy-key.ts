import { z } from 'zod';
import { loadConfig, type Config } from '../../config/config.ts';
import { keyPurpose, parseKeyId, type KeyId } from '../../token/key-id.ts';
import { destroyUse } from '../../token/uses.ts';
import { withOperatorToken } from '../ca/token-work.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';

export const DestroyKeyOptions = z.strictObject({ keyId: z.string() });

/** Kinds of keys that only an operator makes, and that the service never destroys. */
const operatorsKinds: ReadonlySet<string> = new Set(['root', 'authority', 'timeStamps']);

/**
 * `token destroy-key`: destroys the key of a former CA or time-stamp authority, which the
 * configuration no longer names.
 */
export async function tokenDestroyKey(configPath: string, options: z.output<typeof DestroyKeyOptions>): Promise<Outcome> {
  const keyId = keyIdOf(options.keyId);
  const user = userOf(loadConfig(configPath), keyId);
  if (user !== undefined)
    throw new CommandError(
      exitCodes.refused,
      `${user}.keyId names this key; nothing was destroyed. Remove the section, or have it name the successor, first`,
    );
  await withOperatorToken(configPath, 'token destroy-key', async (token) => {
    if (!(await token.findKeys([keyId])).has(keyId)) throw new CommandError(exitCodes.refused, `the token has no key ${keyId}`);
    await token.announce({ use: destroyUse(keyId) });
    await token.destroyKey(keyId);
  });
  return { json: { keyId, destroyed: true }, text: `Destroyed.\n${fields([['keyId', keyId]])}` };
}

function keyIdOf(text: string): KeyId {
  try {
    const id = parseKeyId(text.toLowerCase());
    if (operatorsKinds.has(keyPurpose(id) ?? '')) return id;
  } catch {
    // Reported below.
  }
  throw new CommandError(
    exitCodes.usage,
    '--key-id takes the CKA_ID of a former CA or time-stamp authority, which begins with 49, 52 or 54 (signetctl token inventory)',
  );
}

/** The section of the configuration that uses the key. */
function userOf({ clientAuthority, certificateAuthorities, timeStampAuthority }: Config, keyId: KeyId): string | undefined {
  const users = new Map([
    ...Object.entries(certificateAuthorities)
      .filter(([, { retired }]) => !retired)
      .map(([name, authority]) => [authority.keyId.toLowerCase(), `certificateAuthorities.${name}`] as const),
    ...(clientAuthority === undefined ? [] : [[clientAuthority.keyId.toLowerCase(), 'clientAuthority'] as const]),
    ...(timeStampAuthority === undefined ? [] : [[timeStampAuthority.keyId.toLowerCase(), 'timeStampAuthority'] as const]),
  ]);
  return users.get(keyId);
}
