import { closestName } from '../config/closest-name.ts';
import { loadConfig } from '../config/config.ts';
import { CommandError, exitCodes } from './exit-codes.ts';

/**
 * Refuses a tenant that the configuration does not have, with those that it has.
 * @param lack what no tenant of this name does, such as `is configured`
 * @throws {CommandError}
 */
export function checkTenant(configPath: string, tenant: string, lack: string): void {
  const tenants = Object.keys(loadConfig(configPath).tenants).toSorted();
  if (tenants.includes(tenant)) return;
  const near = closestName(tenant, tenants);
  const meant = near === undefined ? '' : `; did you mean "${near}"?`;
  throw new CommandError(exitCodes.refused, `tenant: no tenant "${tenant}" ${lack}; configured: ${tenants.join(', ')}${meant}`);
}
