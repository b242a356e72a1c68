import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { TokenConfig } from '../../config/config.ts';

/** A file of `native-config/`: what is particular to a vendor's module. */
const ModuleProfile = z.strictObject({
  vendor: z.string(),
  /** Whether the profile was tried with the real thing, or written from the vendor's documentation. */
  tried: z.boolean(),
  source: z.string(),
  modulePaths: z.array(z.string()).min(1),
});

/** The path of the PKCS#11 module: the configured one, else the first of the profile's that exists. @throws {Error} where there is none. */
export function modulePath(config: TokenConfig): string {
  if (config.modulePath !== undefined) {
    if (!existsSync(config.modulePath)) throw new Error(`token.modulePath: there is no file ${config.modulePath}`);
    return config.modulePath;
  }
  const file = new URL(`../../../native-config/${config.profile}.yaml`, import.meta.url);
  if (!existsSync(file)) throw new Error(`token.profile: there is no profile "${config.profile}" in native-config/`);
  const { modulePaths, vendor } = ModuleProfile.parse(parse(readFileSync(file, 'utf8')));
  const found = modulePaths.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`the module of ${vendor} is not installed: none of ${modulePaths.join(', ')} exists`);
  return found;
}
