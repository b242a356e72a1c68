import { z } from 'zod';
import type { Outcome } from './outcome.ts';
import { ask } from './service.ts';

/** `reload`: as SIGHUP, and says how it went. */
export async function reload(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'reload' }, z.strictObject({ changed: z.array(z.string()) }));
  const changed =
    result.changed.length === 0 ? 'Its settings are as they were; files were read anew.' : `Changed: ${result.changed.join(', ')}`;
  return { json: result, text: `The configuration is reloaded. ${changed}\n`, notes };
}
