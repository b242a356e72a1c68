import type { Handle, MechanismInfo, PKCS11 } from 'pkcs11js';
import { ckr } from '../pkcs11-faults.ts';
import type { ProbeReport } from '../wire/probe-report.ts';
import { macKeyMechanisms, rsaKeyPairMechanisms } from './mechanism-names.ts';
import type { ModuleProfile } from './module-profile.ts';
import { pkcs11Code, pkcs11js } from './session.ts';

export type MechanismFinding = ProbeReport['mechanisms'][number];

const signing = {
  CKM_EC_KEY_PAIR_GEN: pkcs11js.CKM_EC_KEY_PAIR_GEN,
  CKM_ECDSA: pkcs11js.CKM_ECDSA,
  CKM_RSA_PKCS: pkcs11js.CKM_RSA_PKCS,
  CKM_RSA_PKCS_PSS: pkcs11js.CKM_RSA_PKCS_PSS,
  CKM_SHA256_HMAC: pkcs11js.CKM_SHA256_HMAC,
} as const;

/** Uses that a mechanism must support (flags of CK_MECHANISM_INFO, PKCS#11 §3.5). */
export const uses = {
  sign: pkcs11js.CKF_SIGN,
  signAndVerify: pkcs11js.CKF_SIGN | pkcs11js.CKF_VERIFY,
  generate: pkcs11js.CKF_GENERATE,
  generateKeyPair: pkcs11js.CKF_GENERATE_KEY_PAIR,
} as const;

/** The token's information about the mechanisms that the host uses. */
export class OfferedMechanisms {
  readonly findings: readonly MechanismFinding[];
  readonly #flags = new Map<string, number>();

  constructor(module: PKCS11, slot: Handle, profile: ModuleProfile) {
    const offered = new Set(module.C_GetMechanismList(slot));
    const wanted: Record<string, number> = { ...signing, [profile.macKey.mechanism]: macKeyMechanisms[profile.macKey.mechanism] };
    for (const name of profile.rsaKeyPairMechanisms) wanted[name] = rsaKeyPairMechanisms[name];
    this.findings = Object.entries(wanted).map(([name, mechanism]) => {
      const info = offered.has(mechanism) ? infoOf(module, slot, mechanism) : undefined;
      if (info === undefined) return { name, offered: false, hardware: false, minKeySize: 0, maxKeySize: 0 };
      const { flags, minKeySize, maxKeySize } = info;
      this.#flags.set(name, flags);
      return { name, offered: true, hardware: (flags & pkcs11js.CKF_HW) !== 0, minKeySize, maxKeySize };
    });
  }

  /**
   * Whether the mechanism is offered for this use, with keys of this many bits. If the token names
   * no sizes, every size is accepted.
   */
  canDo(name: string, use: keyof typeof uses, keyBits?: number): boolean {
    const flags = this.#flags.get(name);
    if (flags === undefined || (flags & uses[use]) !== uses[use]) return false;
    const finding = this.findings.find((entry) => entry.name === name);
    if (keyBits === undefined || finding === undefined || finding.maxKeySize === 0) return true;
    return finding.minKeySize <= keyBits && keyBits <= finding.maxKeySize;
  }
}

/** Some modules list mechanisms about which they give no information. */
function infoOf(module: PKCS11, slot: Handle, mechanism: number): MechanismInfo | undefined {
  try {
    return module.C_GetMechanismInfo(slot, mechanism);
  } catch (error) {
    if (pkcs11Code(error) === ckr.MECHANISM_INVALID) return undefined;
    throw error;
  }
}
