import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { ConfigError } from '../../config/config-error.ts';
import type { TokenConfig } from '../../config/token-config.ts';
import {
  macKeyMechanisms,
  macKeyTypes,
  omittableAttributes,
  rsaKeyPairMechanisms,
  type MacKeyMechanism,
  type MacKeyType,
  type OmittableAttribute,
  type RsaKeyPairMechanism,
} from './mechanism-names.ts';
import { isPattern } from './pin.ts';

const namesOf = <T extends string>(table: Readonly<Record<T, number>>): T[] => Object.keys(table) as T[];
const Omitted = z.array(z.enum(namesOf<OmittableAttribute>(omittableAttributes))).default([]);

/**
 * A file of `native-config/`: the peculiarities of a vendor's module. The host uses every member
 * except the first three and `notes`.
 */
export const ModuleProfile = z.strictObject({
  vendor: z.string().min(1),
  /**
   * Whether the profile was tried with the module itself, or only written from the vendor's
   * documentation.
   */
  tried: z.boolean(),
  source: z.array(z.string().min(1)).min(1),
  modulePaths: z.array(z.string().startsWith('/')).min(1),
  /**
   * Variables by which the module finds its configuration. An unset one is a fault unless one of
   * its default files exists.
   */
  environment: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[A-Z0-9_]+$|^ChrystokiConfigurationPath$/),
        defaultPaths: z.array(z.string()).default([]),
      }),
    )
    .default([]),
  /**
   * Text that C_Initialize passes to the module, unless `token.libraryParameters` has another one.
   */
  libraryParameters: z.string().min(1).optional(),
  /** Whether the module is always opened as with `token.isolateModule`. */
  isolateModule: z.boolean().default(false),
  /** Maximum number of open sessions in one process. */
  sessionLimit: z.int().min(2).optional(),
  /** Most threads that the module stands: some return wrong values if several use it. */
  threadsMax: z.int().min(1).optional(),
  /**
   * Form of the PIN. A PIN of another form is not tried, since each refusal brings the token closer
   * to being locked. The pattern is a POSIX extended regular expression (regex(7)): a JavaScript
   * one would need the PIN as a string, which stays in memory.
   */
  pin: z
    .strictObject({ pattern: z.string().refine(isPattern, 'must be a POSIX extended regular expression'), form: z.string() })
    .optional(),
  /** In order of preference: the first that the token offers is used. */
  rsaKeyPairMechanisms: z
    .array(z.enum(namesOf<RsaKeyPairMechanism>(rsaKeyPairMechanisms)))
    .min(1)
    .default(['CKM_RSA_PKCS_KEY_PAIR_GEN']),
  macKey: z
    .strictObject({
      keyType: z.enum(namesOf<MacKeyType>(macKeyTypes)).default('CKK_GENERIC_SECRET'),
      mechanism: z.enum(namesOf<MacKeyMechanism>(macKeyMechanisms)).default('CKM_GENERIC_SECRET_KEY_GEN'),
      /**
       * `host`: the token makes the MAC of what it is asked about, and the token host compares it in
       * constant time. For modules that do not verify, or answer a wrong MAC with a fault.
       */
      comparedBy: z.enum(['token', 'host']).default('token'),
      omit: Omitted,
    })
    .prefault({}),
  privateKey: z.strictObject({ omit: Omitted, uniqueLabel: z.boolean().default(false) }).prefault({}),
  /**
   * `onToken`: the module requires both keys of a pair on the token; the public one is destroyed as
   * soon as it is read.
   */
  publicKey: z.strictObject({ onToken: z.boolean().default(false) }).prefault({}),
  /**
   * The module does not accept CKA_ID at generation: it is set afterwards, and until then the label
   * carries it.
   */
  idAfterGeneration: z.boolean().default(false),
  /**
   * How often a key is tried to be made: some modules fail now and then while another thread
   * destroys or searches keys.
   */
  generationAttempts: z.int().min(1).max(10).default(1),
  /** Whether session keys can be made. Without them the probe tries nothing. */
  sessionKeys: z.boolean().default(true),
  notes: z.array(z.string()).default([]),
});
export type ModuleProfile = z.output<typeof ModuleProfile>;

/**
 * Reads a profile by its name in `native-config/`, or from a file if a path is given.
 * @throws {ConfigError}
 */
export function loadProfile(name: string): ModuleProfile {
  const file = name.includes('/') ? name : new URL(`../../../native-config/${name}.yaml`, import.meta.url);
  if (!existsSync(file))
    throw new ConfigError(`token.profile: there is no profile ${name.includes('/') ? name : `"${name}" in native-config/`}`);
  const parsed = ModuleProfile.safeParse(parse(readFileSync(file, 'utf8'), { strict: true, uniqueKeys: true }));
  if (parsed.success) return parsed.data;
  throw new ConfigError(
    parsed.error.issues.map((issue) => `token.profile: ${name}: ${issue.path.join('.') || '(file)'}: ${issue.message}`).join('\n'),
  );
}

/**
 * Returns the path of the PKCS#11 module: the configured one, otherwise the first of the profile's
 * that exists.
 * @throws {ConfigError} if there is none
 */
export function modulePath(config: TokenConfig, { modulePaths, vendor }: ModuleProfile): string {
  if (config.modulePath !== undefined) {
    if (!existsSync(config.modulePath)) throw new ConfigError(`token.modulePath: there is no file ${config.modulePath}`);
    return config.modulePath;
  }
  const found = modulePaths.find((path) => existsSync(path));
  if (found === undefined) throw new ConfigError(`the module of ${vendor} is not installed: none of ${modulePaths.join(', ')} exists`);
  return found;
}
