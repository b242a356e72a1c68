import { resolve } from 'node:path';
import { z } from 'zod';
import { loadTokenConfig } from '../../config/config.ts';
import { connectToHost } from '../../token/operator/host-questions.ts';
import { openModule } from '../../token/operator/module-questions.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';
import { answerMs } from './token-access.ts';

export const InitOptions = z.strictObject({
  label: z.string(),
  soPin: z.string(),
  pin: z.string(),
  slot: z.string().optional(),
  reinitialise: z.boolean().default(false),
  confirm: z.string().optional(),
});

/**
 * `token init`: initialises a token and sets its user PIN, but never while a token host has it
 * open.
 */
export async function tokenInit(configPath: string, options: z.output<typeof InitOptions>): Promise<Outcome> {
  const config = loadTokenConfig(configPath);
  const host = await connectToHost(config.socketPath, answerMs(config));
  if (host !== undefined) {
    host.close();
    throw new CommandError(exitCodes.refused, 'the token host is running; stop signetd and signetd-token first');
  }
  const module = await openModule(config, configPath, answerMs(config));
  try {
    const made = await module.initialise({
      label: options.label,
      soPin: secretReference(options.soPin, '--so-pin'),
      pin: secretReference(options.pin, '--pin'),
      ...(options.slot === undefined ? {} : { slot: options.slot }),
      reinitialise: options.reinitialise,
      ...(options.confirm === undefined ? {} : { confirm: options.confirm }),
    });
    return {
      json: made,
      text: `Token initialised and user PIN set; it has no keys.\n${fields(Object.entries(made))}`,
      notes:
        made.label === config.label
          ? []
          : [`the configuration names another token (token.label: "${config.label}"); signetd will not use this one`],
    };
  } finally {
    module.close();
  }
}

/**
 * Refuses a PIN on the command line, where every user of the machine could read it.
 * @throws {CommandError}
 */
export function secretReference(text: string, option: string): string {
  if (text.startsWith('file:') && text.length > 'file:'.length) return `file:${resolve(text.slice('file:'.length))}`;
  if (/^credential:.+$/.test(text)) return text;
  // The text may be the PIN itself, so it is not repeated.
  throw new CommandError(exitCodes.usage, `${option} takes file:<path> (mode 0600) or credential:<name>, never the PIN itself`);
}
