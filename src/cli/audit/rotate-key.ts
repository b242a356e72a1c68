import { CheckpointKeyView } from '../../admin/views.ts';
import type { Outcome } from '../outcome.ts';
import { ask } from '../service.ts';
import { fields } from '../table.ts';

/** `audit rotate-key` */
export async function auditRotateKey(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'audit rotate-key' }, CheckpointKeyView);
  const { key, former, file } = result;
  return {
    json: result,
    text: `Another key signs the checkpoints.\n${fields([
      ['key', key],
      ['former', former],
      ['from file', file ?? 'the next one'],
    ])}`,
    notes: [...notes, 'note the SHA-256 of the new key where you keep the former one, and back up the token'],
  };
}
