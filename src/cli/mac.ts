import { z } from 'zod';
import { MacView } from '../admin/views.ts';
import type { Outcome } from './outcome.ts';
import { ask } from './service.ts';
import { fields } from './table.ts';

export const DestroyOptions = z.object({ force: z.boolean().default(false) });

/** `mac status` */
export async function macStatus(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'mac status' }, MacView);
  return { json: result, text: textOf(result), notes };
}

/** `mac rotate` */
export async function macRotate(configPath: string): Promise<Outcome> {
  const { result } = await ask(configPath, { command: 'mac rotate' }, MacView);
  return {
    json: result,
    text: `Made another MAC key.\n${textOf(result)}`,
    notes: ['back up the token; once signetctl mac status shows that no secret depends on a former key, run signetctl mac destroy-former'],
  };
}

/** `mac destroy-former` */
export async function macDestroy(configPath: string, { force }: z.output<typeof DestroyOptions>): Promise<Outcome> {
  const { result } = await ask(configPath, { command: 'mac destroy', force }, MacView);
  const { lost = 0 } = result;
  return {
    json: result,
    text: `Destroyed the former MAC keys.\n${textOf(result)}`,
    notes: lost === 0 ? [] : [`the secrets of ${lost} keys are lost: they cannot sign, and need new certificates`],
  };
}

function textOf({ current, former, secrets, oneTime, seals }: MacView): string {
  return fields([
    ['current MAC key', String(current)],
    ['former MAC keys', String(former)],
    ['secrets that need one', String(secrets)],
    ['one-time secrets', String(oneTime)],
    ['seals', String(seals)],
  ]);
}
