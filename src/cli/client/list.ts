import { z } from 'zod';
import { clientView } from '../../admin/client-commands.ts';
import { ClientView } from '../../admin/views.ts';
import type { Outcome } from '../outcome.ts';
import { look } from '../service.ts';
import { table } from '../table.ts';

/** `client list`: who may call. */
export async function clientList(configPath: string): Promise<Outcome> {
  const { result, notes } = await look(
    configPath,
    { command: 'client list' },
    { schema: z.array(ClientView), read: async (store) => (await store.run('listClients')).map(clientView) },
  );
  const rows = result.map(({ name, tenant, roles, registered, publicKey }) => [name, tenant, roles.join(','), registered, publicKey]);
  return { json: result, text: table(['NAME', 'TENANT', 'ROLES', 'REGISTERED', 'PUBLIC KEY'], rows), notes };
}
