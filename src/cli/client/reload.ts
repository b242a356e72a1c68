import { z } from 'zod';
import type { Outcome } from '../outcome.ts';
import { ask } from '../service.ts';

/** `client reload`: for a state store that was changed by hand. */
export async function clientReload(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'client reload' }, z.strictObject({ clients: z.int() }));
  return { json: result, text: `${result.clients} clients are registered.\n`, notes };
}
