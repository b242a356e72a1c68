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

/** Returns the tenant of a configuration with one. @throws {CommandError} if one must be chosen */
export function onlyTenant(configPath: string): string {
  const [name, ...others] = Object.keys(loadConfig(configPath).tenants).toSorted();
  if (name !== undefined && others.length === 0) return name;
  const choice =
    name === undefined ? 'the configuration has no tenant' : `the configuration has several tenants: ${[name, ...others].join(', ')}`;
  throw new CommandError(exitCodes.usage, `--tenant is missing: ${choice}`);
}
