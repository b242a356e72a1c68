import type { Handle, MechanismInfo, PKCS11 } from 'pkcs11js';
import type { MechanismAbility, MechanismReport } from '../wire/reports.ts';
import { capabilitiesOf, verdict } from './capabilities.ts';
import { macKeyMechanisms, rsaKeyPairMechanisms } from './mechanism-names.ts';
import type { ModuleProfile } from './module-profile.ts';
import { OfferedMechanisms } from './offered-mechanisms.ts';
import { pkcs11js } from './session.ts';

/** Purposes for which signetd uses mechanisms. The profile names those that make keys. */
const purposes: ReadonlyMap<number, string> = new Map([
  [pkcs11js.CKM_EC_KEY_PAIR_GEN, 'making EC keys'],
  [pkcs11js.CKM_RSA_PKCS, 'RSA signatures (PKCS #1 v1.5)'],
  [pkcs11js.CKM_RSA_PKCS_PSS, 'RSA signatures (PSS)'],
  [pkcs11js.CKM_ECDSA, 'EC signatures'],
  [pkcs11js.CKM_SHA256_HMAC, 'checking passwords'],
]);

const abilityBits: Readonly<Record<MechanismAbility, number>> = {
  encrypt: pkcs11js.CKF_ENCRYPT,
  decrypt: pkcs11js.CKF_DECRYPT,
  digest: pkcs11js.CKF_DIGEST,
  sign: pkcs11js.CKF_SIGN,
  signRecover: pkcs11js.CKF_SIGN_RECOVER,
  verify: pkcs11js.CKF_VERIFY,
  verifyRecover: pkcs11js.CKF_VERIFY_RECOVER,
  generate: pkcs11js.CKF_GENERATE,
  generateKeyPair: pkcs11js.CKF_GENERATE_KEY_PAIR,
  wrap: pkcs11js.CKF_WRAP,
  unwrap: pkcs11js.CKF_UNWRAP,
  derive: pkcs11js.CKF_DERIVE,
};
/** Object.entries of a record loses the type of its keys. */
const abilityList = Object.entries(abilityBits) as [MechanismAbility, number][];
const vendorDefined = 0x80000000;

/** The first name that pkcs11t.h has for each code: some have two. */
const names = new Map<number, string>();
for (const [name, code] of Object.entries(pkcs11js)) {
  if (name.startsWith('CKM_') && typeof code === 'number' && !names.has(code)) names.set(code, name);
}
// The name since v2.11 of CKM_ECDSA_KEY_PAIR_GEN.
names.set(pkcs11js.CKM_EC_KEY_PAIR_GEN, 'CKM_EC_KEY_PAIR_GEN');

/** Describes every mechanism of the slot's token, ordered by code. */
export function reportMechanisms(module: PKCS11, slot: Handle, profile: ModuleProfile): MechanismReport[] {
  const codes = module.C_GetMechanismList(slot).toSorted((left, right) => (left >>> 0) - (right >>> 0));
  return codes.map((code) => {
    const info = mechanismInfo(module, slot, code);
    return {
      code: `0x${(code >>> 0).toString(16).padStart(8, '0')}`,
      name: mechanismName(code),
      abilities: abilityList.filter(([, bit]) => (info.flags & bit) !== 0).map(([name]) => name),
      inHardware: (info.flags & pkcs11js.CKF_HW) !== 0,
      keySize: { min: info.minKeySize, max: info.maxKeySize },
      neededFor: purposeOf(code >>> 0, profile),
    };
  });
}

/**
 * Names the mechanisms that signetd needs and the token does not list, one sentence each. Nothing
 * is tried.
 */
export function missingMechanisms(module: PKCS11, slot: Handle, profile: ModuleProfile): string[] {
  const capabilities = capabilitiesOf(new OfferedMechanisms(module, slot, profile), profile);
  const faults = capabilities.macFault === undefined ? [] : [capabilities.macFault];
  return verdict(capabilities, faults, capabilities.keyTypes.length > 0).missing;
}

function purposeOf(code: number, profile: ModuleProfile): string | null {
  if (code === macKeyMechanisms[profile.macKey.mechanism]) return 'making the MAC key';
  if (profile.rsaKeyPairMechanisms.some((name) => rsaKeyPairMechanisms[name] === code)) return 'making RSA keys';
  return purposes.get(code) ?? null;
}

/** Some modules list mechanisms about which they give no information. */
function mechanismInfo(module: PKCS11, slot: Handle, code: number): Pick<MechanismInfo, 'flags' | 'minKeySize' | 'maxKeySize'> {
  try {
    return module.C_GetMechanismInfo(slot, code);
  } catch {
    return { flags: 0, minKeySize: 0, maxKeySize: 0 };
  }
}

function mechanismName(code: number): string {
  return names.get(code) ?? (code >>> 0 >= vendorDefined ? 'vendor-defined' : 'unknown');
}
