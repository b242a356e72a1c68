import type { Handle, MechanismInfo, PKCS11 } from 'pkcs11js';
import type { MechanismAbility, MechanismReport } from '../wire/reports.ts';
import { pkcs11js } from './session.ts';

/** What signetd asks of a token: the mechanism, what it must be able to do, and what for. */
const neededMechanisms: readonly { readonly code: number; readonly abilities: readonly MechanismAbility[]; readonly purpose: string }[] = [
  { code: pkcs11js.CKM_RSA_PKCS_KEY_PAIR_GEN, abilities: ['generateKeyPair'], purpose: 'making RSA keys' },
  { code: pkcs11js.CKM_EC_KEY_PAIR_GEN, abilities: ['generateKeyPair'], purpose: 'making EC keys' },
  { code: pkcs11js.CKM_RSA_PKCS, abilities: ['sign'], purpose: 'RSA signatures (PKCS #1 v1.5)' },
  { code: pkcs11js.CKM_RSA_PKCS_PSS, abilities: ['sign'], purpose: 'RSA signatures (PSS)' },
  { code: pkcs11js.CKM_ECDSA, abilities: ['sign'], purpose: 'EC signatures' },
  { code: pkcs11js.CKM_GENERIC_SECRET_KEY_GEN, abilities: ['generate'], purpose: 'making the key that passwords are checked with' },
  { code: pkcs11js.CKM_SHA256_HMAC, abilities: ['sign', 'verify'], purpose: 'checking passwords' },
];

/** CKF_ of CK_MECHANISM_INFO. */
const abilityBits: Readonly<Record<MechanismAbility, number>> = {
  encrypt: 0x100,
  decrypt: 0x200,
  digest: 0x400,
  sign: 0x800,
  signRecover: 0x1000,
  verify: 0x2000,
  verifyRecover: 0x4000,
  generate: 0x8000,
  generateKeyPair: 0x10000,
  wrap: 0x20000,
  unwrap: 0x40000,
  derive: 0x80000,
};
/** Object.entries of a record loses the type of its keys. */
const abilityList = Object.entries(abilityBits) as [MechanismAbility, number][];
const inHardware = 0x1;
const vendorDefined = 0x80000000;

/** The first name that pkcs11t.h has for each code: some have two. */
const names = new Map<number, string>();
for (const [name, code] of Object.entries(pkcs11js)) {
  if (name.startsWith('CKM_') && typeof code === 'number' && !names.has(code)) names.set(code, name);
}
// Since v2.11 this is the name of what was CKM_ECDSA_KEY_PAIR_GEN.
names.set(pkcs11js.CKM_EC_KEY_PAIR_GEN, 'CKM_EC_KEY_PAIR_GEN');

/** Every mechanism of the slot's token, by code. */
export function reportMechanisms(module: PKCS11, slot: Handle): MechanismReport[] {
  const codes = module.C_GetMechanismList(slot).toSorted((left, right) => (left >>> 0) - (right >>> 0));
  return codes.map((code) => {
    const info = mechanismInfo(module, slot, code);
    return {
      code: `0x${(code >>> 0).toString(16).padStart(8, '0')}`,
      name: mechanismName(code),
      abilities: abilityList.filter(([, bit]) => (info.flags & bit) !== 0).map(([name]) => name),
      inHardware: (info.flags & inHardware) !== 0,
      keySize: { min: info.minKeySize, max: info.maxKeySize },
      neededFor: neededMechanisms.find((needed) => needed.code === code)?.purpose ?? null,
    };
  });
}

/** For each mechanism that signetd needs, whether the token has it: sentences for an operator. */
export function judgeMechanisms(mechanisms: readonly MechanismReport[]): { present: string[]; missing: string[] } {
  const present: string[] = [];
  const missing: string[] = [];
  for (const { code, abilities, purpose } of neededMechanisms) {
    const name = mechanismName(code);
    const found = mechanisms.find((mechanism) => mechanism.name === name);
    const lacking = abilities.filter((ability) => !(found?.abilities.includes(ability) ?? false));
    if (found === undefined) missing.push(`${purpose}: the token does not have ${name}`);
    else if (lacking.length > 0) missing.push(`${purpose}: the token has ${name}, but not to ${lacking.join(' and ')} with`);
    else present.push(`${purpose}: ${name}`);
  }
  return { present, missing };
}

/** Some modules list what they then know nothing of. */
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
