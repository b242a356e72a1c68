import { keyTypes, type KeyType } from '../../config/key-types.ts';
import { curveOf, rsaBitsOf } from './key-templates.ts';
import type { RsaKeyPairMechanism } from './mechanism-names.ts';
import type { ModuleProfile } from './module-profile.ts';
import type { OfferedMechanisms } from './offered-mechanisms.ts';

const curveBits = { 'P-256': 256, 'P-384': 384, 'P-521': 521 } as const;

export const withoutMac = 'passwords cannot be checked';

/**
 * Capabilities derived from the mechanisms that a token offers. Faults are sentences for an
 * operator.
 */
export interface Capabilities {
  /**
   * Mechanism for making RSA keys; undefined if the token offers none of the profile's mechanisms.
   */
  readonly rsaKeyPairMechanism: RsaKeyPairMechanism | undefined;
  readonly keyTypes: readonly KeyType[];
  readonly macFault: string | undefined;
  /** Reasons why a family of keys cannot be used. */
  readonly familyFaults: readonly string[];
  readonly limits: readonly string[];
}

export function capabilitiesOf(offered: OfferedMechanisms, profile: ModuleProfile): Capabilities {
  const rsaKeyPairMechanism = profile.rsaKeyPairMechanisms.find((name) => offered.canDo(name, 'generateKeyPair'));
  const usable = keyTypes.filter((type) => offersKeyType(offered, rsaKeyPairMechanism, type));
  const withoutPss = usable.some((type) => rsaBitsOf(type) !== undefined) && !offered.canDo('CKM_RSA_PKCS_PSS', 'sign');
  return {
    rsaKeyPairMechanism,
    keyTypes: usable,
    macFault: macFault(offered, profile),
    familyFaults: [ecFault(offered), rsaFault(offered, profile)].filter((line) => line !== undefined),
    limits: withoutPss ? ['the token cannot sign with RSASSA-PSS (CKM_RSA_PKCS_PSS): RSA keys sign with PKCS #1 v1.5 only'] : [],
  };
}

/**
 * Sorts faults into those that prevent a start and mere limits: one usable type of key is enough,
 * and what the other family lacks is a limit.
 * @param faults other missing features
 * @param usable whether any type of key can be used
 */
export function verdict(
  { familyFaults, limits }: Capabilities,
  faults: readonly string[],
  usable: boolean,
): { readonly missing: string[]; readonly limits: string[] } {
  return usable
    ? { missing: [...faults], limits: [...familyFaults, ...limits] }
    : { missing: [...faults, ...familyFaults, 'no type of key can be used with this token'], limits: [...limits] };
}

function offersKeyType(offered: OfferedMechanisms, rsaMechanism: RsaKeyPairMechanism | undefined, type: KeyType): boolean {
  const bits = rsaBitsOf(type);
  if (bits === undefined) {
    const size = curveBits[curveOf(type)];
    return offered.canDo('CKM_EC_KEY_PAIR_GEN', 'generateKeyPair', size) && offered.canDo('CKM_ECDSA', 'sign', size);
  }
  return rsaMechanism !== undefined && offered.canDo(rsaMechanism, 'generateKeyPair', bits) && offered.canDo('CKM_RSA_PKCS', 'sign', bits);
}

function macFault(offered: OfferedMechanisms, { macKey: { mechanism, comparedBy } }: ModuleProfile): string | undefined {
  if (!offered.canDo('CKM_SHA256_HMAC', 'sign')) return `the token cannot make HMAC-SHA256 (CKM_SHA256_HMAC): ${withoutMac}`;
  if (comparedBy === 'token' && !offered.canDo('CKM_SHA256_HMAC', 'signAndVerify')) {
    return 'the token makes HMAC-SHA256 (CKM_SHA256_HMAC) and does not verify it: set macKey.comparedBy to host in the profile';
  }
  return offered.canDo(mechanism, 'generate') ? undefined : `the token cannot make a key for HMAC-SHA256 (${mechanism}): ${withoutMac}`;
}

function ecFault(offered: OfferedMechanisms): string | undefined {
  const consequence = 'P-256, P-384 and P-521 keys cannot be used';
  if (!offered.canDo('CKM_EC_KEY_PAIR_GEN', 'generateKeyPair')) {
    return `the token cannot make elliptic-curve keys (CKM_EC_KEY_PAIR_GEN): ${consequence}`;
  }
  return offered.canDo('CKM_ECDSA', 'sign') ? undefined : `the token cannot sign with ECDSA on a digest (CKM_ECDSA): ${consequence}`;
}

function rsaFault(offered: OfferedMechanisms, { rsaKeyPairMechanisms: names }: ModuleProfile): string | undefined {
  const consequence = 'RSA keys cannot be used';
  if (!names.some((name) => offered.canDo(name, 'generateKeyPair'))) {
    return `the token cannot make RSA keys (${names.join(', ')}): ${consequence}`;
  }
  return offered.canDo('CKM_RSA_PKCS', 'sign') ? undefined : `the token cannot sign with RSA PKCS #1 v1.5 (CKM_RSA_PKCS): ${consequence}`;
}
