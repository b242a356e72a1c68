import { z } from 'zod';
import { SubjectFields } from '../../certificates/subject-fields.ts';
import { subjectName } from '../../certificates/subject.ts';
import { authorityKeyTypes } from '../../certificates/new-authority.ts';
import { loadConfig, type Config } from '../../config/config.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';

/** Options of every command that makes an authority with a name and a key of its own. */
export const namedAuthority = {
  name: z.string(),
  directory: z.string(),
  country: z.string(),
  organization: z.string(),
  commonName: z.string(),
  keyType: z.string(),
  years: z.string(),
};

/** @throws {CommandError} */
export function keyTypeOf(text: string, option: string): (typeof authorityKeyTypes)[number] {
  const found = authorityKeyTypes.find((type) => type === text);
  if (found === undefined) throw new CommandError(exitCodes.usage, `${option} takes one of ${authorityKeyTypes.join(', ')}`);
  return found;
}

/** @throws {CommandError} */
export function yearsOf(text: string, option: string): number {
  if (!/^[1-9]\d?$/.test(text)) throw new CommandError(exitCodes.usage, `${option} takes a number of years from 1 to 99`);
  return Number(text);
}

/** Checks a name that is used in the configuration and in URLs. @throws {CommandError} */
export function authorityNameOf(text: string, option: string): string {
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(text)) {
    throw new CommandError(exitCodes.usage, `${option} takes a name of lower-case letters, digits and hyphens`);
  }
  return text;
}

/** Returns the DER of an authority's Name. @throws {CommandError} */
export function distinguishedNameOf(country: string, organizationName: string, commonName: string): Uint8Array {
  const parsed = SubjectFields.safeParse({ country, organizationName, commonName });
  if (parsed.success) return subjectName(parsed.data);
  const [issue] = parsed.error.issues;
  throw new CommandError(exitCodes.usage, `${issue?.path.join('.') ?? 'the name'}: ${issue?.message ?? 'it cannot be used'}`);
}

export type ConfiguredAuthority = Config['certificateAuthorities'][string];

/** @throws {CommandError} if the configuration has none of this name */
export function configuredAuthority(configPath: string, name: string): ConfiguredAuthority {
  const found = loadConfig(configPath).certificateAuthorities[name];
  if (found === undefined) throw new CommandError(exitCodes.usage, `the configuration has no certificate authority "${name}"`);
  return found;
}
