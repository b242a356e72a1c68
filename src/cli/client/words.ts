import type { ClientView } from '../../admin/views.ts';
import { fields } from '../table.ts';

/** A client in lines for people. */
export function clientFields({ name, tenant, roles, publicKey }: ClientView): string {
  return fields([
    ['name', name],
    ['tenant', tenant],
    ['roles', roles.join(', ')],
    ['public key', publicKey],
  ]);
}
