import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { auditFiles } from '../../audit/file-names.ts';
import { loadFoundations, loadTokenConfig } from '../../config/config.ts';
import { readSecretBytes } from '../../config/secret-reference.ts';
import { connectToHost } from '../../token/operator/host-questions.ts';
import { openModule } from '../../token/operator/module-questions.ts';
import { pinFrom, TokenFailure } from '../../token/operator/token-failure.ts';
import { useRecords } from '../ca/use-records.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { credentialKeys } from '../setup/credentials.ts';
import { secretReference } from './init.ts';
import { pinPlace } from './pin-place.ts';
import { answerMs } from './token-access.ts';

export const ChangePinOptions = z.strictObject({
  newPin: z.string().optional(),
  credentialKey: z.enum(credentialKeys, { error: `--credential-key takes one of ${credentialKeys.join(', ')}` }),
});

/**
 * `token change-pin`: changes the user PIN on the token and where it is stored. Killed at any point,
 * the token host presents no wrong PIN: the old one counts as refused from before the change on, and
 * a repetition of the command finishes it. Each attempt is recorded in the audit log before it
 * changes anything.
 */
export async function tokenChangePin(configPath: string, options: z.output<typeof ChangePinOptions>): Promise<Outcome> {
  const config = loadTokenConfig(configPath);
  const host = await connectToHost(config.socketPath, answerMs(config));
  if (host !== undefined) {
    host.close();
    throw new CommandError(exitCodes.refused, 'the token host is running; stop signetd and signetd-token first');
  }
  const place = pinPlace(config.pin, options.credentialKey);
  const { isBegun } = place;
  const given = options.newPin === undefined ? undefined : readSecretBytes(secretReference(options.newPin, '--new-pin'));
  if (isBegun) {
    const left = pinFrom(place.next);
    if (given !== undefined && !given.equals(left))
      throw new CommandError(
        exitCodes.refused,
        'an interrupted change left another new PIN, which the token may have by now: finish that first, without --new-pin',
      );
  } else {
    if (given === undefined) throw new CommandError(exitCodes.usage, '--new-pin is required: no change was interrupted');
    const present = pinFrom(config.pin);
    if (given.equals(present)) throw new CommandError(exitCodes.refused, '--new-pin: this is the present PIN');
  }
  const isRecorded = await recorded(configPath);
  if (!isBegun && given !== undefined) place.begin(given);
  const module = await openModule(config, configPath, answerMs(config));
  try {
    await module.changePin({ newPin: place.next, isRepeated: isBegun });
  } catch (error) {
    // The token said that nothing was changed.
    if (!isBegun && error instanceof TokenFailure && error.kind !== 'unreachable') place.giveUp();
    throw error;
  } finally {
    module.close();
  }
  place.finish();
  return {
    json: { changed: true },
    text: 'The PIN was changed, on the token and where it is stored.\n',
    notes: [
      ...(isRecorded ? [] : ['there is no record of this: no service has been started yet with this configuration']),
      'start signetd again; if other machines use this token, store the new PIN there before their token hosts start again',
    ],
  };
}

/**
 * Records the command. Returns false if there is neither a state store nor an audit log yet.
 * @throws {CommandError} if nobody can record it; nothing was changed then
 */
async function recorded(configPath: string): Promise<boolean> {
  const { state, audit } = loadFoundations(configPath);
  if (state.kind === 'sqlite' && !existsSync(state.path)) {
    const directory = resolve(dirname(resolve(configPath)), audit.directory);
    if (!existsSync(directory) || (await auditFiles(directory)).length === 0) return false;
    throw new CommandError(
      exitCodes.refused,
      `the PIN was not changed, since the audit log could not record it first: there is a log in ${directory}, but no state store ${state.path}`,
    );
  }
  const records = useRecords(configPath, 'token change-pin');
  try {
    await records.recordPinChange();
  } finally {
    await records.close();
  }
  return true;
}
