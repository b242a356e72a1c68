import { z } from 'zod';
import { keyPage } from '../../admin/key-view.ts';
import { AdminRequest } from '../../admin/protocol.ts';
import { KeyPage, type KeyView } from '../../admin/views.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { look } from '../service.ts';
import { table } from '../table.ts';

export const KeyListOptions = z.object({ tenant: z.string().optional() });
export type KeyListOptions = z.output<typeof KeyListOptions>;

/** `key list`: the callers' keys, page after page. */
export async function keyList(configPath: string, { tenant }: KeyListOptions): Promise<Outcome> {
  const keys: KeyView[] = [];
  const notes = new Set<string>();
  for (let after: string | undefined, more = true; more; after = keys.at(-1)?.reference) {
    const where = { ...(tenant === undefined ? {} : { tenant }), ...(after === undefined ? {} : { after }) };
    const request = AdminRequest.safeParse({ command: 'key list', ...where });
    if (!request.success) throw new CommandError(exitCodes.usage, '--tenant takes the name of a tenant');
    const page = await look(configPath, request.data, { schema: KeyPage, read: async (store) => keyPage(store, where) });
    keys.push(...page.result.keys);
    for (const note of page.notes) notes.add(note);
    more = page.result.more;
  }
  const rows = keys.map(({ reference, tenant: owner, type, protocol, state, notAfter, subject }) => [
    ...[reference, owner, type, protocol, state, notAfter],
    subject,
  ]);
  return { json: keys, text: table(['REFERENCE', 'TENANT', 'TYPE', 'PROTOCOL', 'STATE', 'NOT AFTER', 'SUBJECT'], rows), notes: [...notes] };
}
