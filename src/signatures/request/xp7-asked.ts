import { Refusal } from '../../result-codes.ts';
import type { RequestRules, TrustedCa } from '../format-entry.ts';
import type { AskedLevel } from '../levels/asked-level.ts';
import { levelAsked } from './level-asked.ts';
import { signedPropertiesAsked } from './signed-properties-asked.ts';
import type { SignedProperties } from './signed-properties.ts';
import type { XP7Signature } from './xp7-signature.ts';

/** JSON Pointer of the member. */
export const xp7At = '/parameters/XP7Signature';

/** Options shared by the formats of XP7Signature. */
export interface Xp7Asked {
  readonly level: AskedLevel | undefined;
  readonly trustedCa: TrustedCa | undefined;
  readonly properties: SignedProperties;
}

/**
 * Reads the options that the formats of XP7Signature share.
 * @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT, UNSUPPORTED
 */
export function xp7Asked(options: XP7Signature, rules: RequestRules): Xp7Asked {
  const level = xp7Level(options, rules);
  const { digestAlgorithm, trustedCA, signedProperties } = options;
  checkHash(digestAlgorithm, level, xp7At, rules);
  return {
    level,
    trustedCa: trustedCA === undefined ? undefined : { fingerprint: trustedCA, at: `${xp7At}/trustedCA` },
    properties: signedPropertiesAsked(signedProperties, `${xp7At}/signedProperties`, { isXp7: true }),
  };
}

/** Reads the level, which all formats share. @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED */
function xp7Level(options: XP7Signature, rules: RequestRules): AskedLevel | undefined {
  const level = levelAsked(options, xp7At, rules, revocationDataOf(options));
  if (options.contentPreparation?.PDFContent !== undefined && options.XP7Format !== 'PXP_7') {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${xp7At}/contentPreparation`, message: 'PDFContent is allowed only with PXP_7' });
  }
  return level;
}

/** Returns `revocationData`, which only PXP_7 uses. */
function revocationDataOf({ XP7Format, XP7Providers }: XP7Signature): Parameters<typeof levelAsked>[3] {
  const fields = XP7Format === 'PXP_7' ? XP7Providers?.PXP7Parameters?.revocationData : undefined;
  return fields === undefined ? undefined : { fields, at: `${xp7At}/XP7Providers/PXP7Parameters/revocationData` };
}

/**
 * Checks whether the hash is allowed. `at`: JSON Pointer of the member.
 * @throws {Refusal} UNSUPPORTED
 */
export function checkHash(
  digestAlgorithm: XP7Signature['digestAlgorithm'],
  level: AskedLevel | undefined,
  at: string,
  { allowSha1 }: Pick<RequestRules, 'allowSha1'>,
): void {
  if (digestAlgorithm !== 'SHA_1') return;
  if (!allowSha1) throw unsupportedHash(at, 'SHA_1 is not allowed for this tenant; supported: SHA_256, SHA_384 and SHA_512');
  if (level?.level === 'LTA') throw unsupportedHash(at, 'an archive time-stamp needs SHA_256, SHA_384 or SHA_512');
}

function unsupportedHash(at: string, message: string): Refusal {
  return new Refusal('UNSUPPORTED', { at: `${at}/digestAlgorithm`, message });
}
