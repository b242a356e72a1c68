import type { Handle } from 'pkcs11js';
import { keyTypes, type KeyType } from '../../config/profile.ts';
import type { ProbeReport } from '../probe-report.ts';
import type { SignatureAlgorithm } from '../signature-algorithm.ts';
import type { KeyRules } from './key-objects.ts';
import { rsaBitsOf } from './key-templates.ts';
import { rsaKeyPairMechanisms } from './mechanism-names.ts';
import type { ModuleProfile } from './module-profile.ts';
import { OfferedMechanisms } from './offered-mechanisms.ts';
import { algorithmsOf, reasonAgainst, tryKeyType, tryMac, tryRandom } from './probe-trials.ts';
import type { Session } from './session.ts';

const ecBits = { 'P-256': 256, 'P-384': 384, 'P-521': 521 } as const;

/** A probe's report, and how keys are to be made on this token. */
export interface Probed {
  readonly report: ProbeReport;
  readonly rules: KeyRules;
}

/**
 * Finds out whether the token can do what the service needs, with keys that live in the session alone. At a start it tries what takes no time
 * (HMAC, random, P-256) and believes the token's own list for the rest; `full` makes and tries keys of every type, which takes seconds.
 * @throws what the module throws where it fails for other reasons than that it cannot do something.
 */
export function probeToken(session: Session, slot: Handle, profile: ModuleProfile, { full }: { readonly full: boolean }): Probed {
  const offered = new OfferedMechanisms(session.module, slot, profile);
  const rsaName = profile.rsaKeyPairMechanisms.find((name) => offered.canDo(name, 'generateKeyPair'));
  const rules = { profile, rsaKeyPairMechanism: rsaKeyPairMechanisms[rsaName ?? 'CKM_RSA_PKCS_KEY_PAIR_GEN'] };
  const lacks = [macFault(session, offered, profile), randomFault(session)].filter((line) => line !== undefined);
  const families = [ecFault(offered), rsaFault(offered, profile)].filter((line) => line !== undefined);
  const limits: string[] = [];
  const states = keyTypes.map((type) => {
    if (!offersKeyType(offered, rsaName, type)) return { type, state: 'missing' as const };
    if (!profile.sessionKeys || !(full || type === 'P-256')) return { type, state: 'offered' as const };
    return { type, state: triedState(session, type, rules, full, limits) };
  });
  const usable = states.some(({ state }) => state !== 'missing');
  if (rsaName !== undefined && !offered.canDo('CKM_RSA_PKCS_PSS', 'sign')) {
    limits.push('the token cannot sign with RSASSA-PSS (CKM_RSA_PKCS_PSS): RSA keys sign with PKCS #1 v1.5 alone');
  }
  if (!profile.sessionKeys) limits.push(`${profile.vendor} makes no keys for a session alone: what the token offers was not tried`);
  const { label, manufacturerID, model, serialNumber, firmwareVersion } = session.module.C_GetTokenInfo(slot);
  const missing = usable ? lacks : [...lacks, ...families, 'no type of key can be used with this token'];
  const report: ProbeReport = {
    vendor: profile.vendor,
    token: {
      label: label.trim(),
      manufacturer: manufacturerID.trim(),
      model: model.trim(),
      serialNumber: serialNumber.trim(),
      firmware: `${firmwareVersion.major}.${firmwareVersion.minor}`,
    },
    full,
    mechanisms: [...offered.findings],
    keyTypes: states,
    missing,
    limits: usable ? [...families, ...limits] : limits,
  };
  return { report, rules };
}

function triedState(session: Session, type: KeyType, rules: KeyRules, full: boolean, limits: string[]): 'works' | 'missing' {
  let made: ReturnType<typeof tryKeyType> = [];
  const against = reasonAgainst(() => {
    made = tryKeyType(session, type, algorithmsOf(type, full), rules);
  });
  const [first] = made;
  if (against !== undefined || first === undefined || first.against !== undefined) {
    limits.push(`${type} keys cannot be used: the token offers them, and answers a try with ${against ?? first?.against ?? 'nothing'}`);
    return 'missing';
  }
  limits.push(...algorithmLimits(type, made));
  return 'works';
}

function algorithmLimits(type: KeyType, tried: ReturnType<typeof tryKeyType>): string[] {
  const refused = tried.filter(({ against }) => against !== undefined);
  const line = ({ algorithm, against }: (typeof refused)[number]): string =>
    hasOtherMgf(algorithm)
      ? `RSASSA-PSS by ${algorithm.hash} cannot use MGF1 by ${algorithm.mgfHash}: ${against}`
      : `${type} keys cannot sign ${algorithm.scheme} by ${algorithm.hash}: ${against}`;
  const [firstMixed] = refused.filter(({ algorithm }) => hasOtherMgf(algorithm));
  if (firstMixed === undefined || tried.some(({ algorithm, against }) => hasOtherMgf(algorithm) && against === undefined))
    return refused.map(line);
  return [
    ...refused.filter(({ algorithm }) => !hasOtherMgf(algorithm)).map(line),
    `RSASSA-PSS works only where MGF1 uses the hash of the digest: another is answered with ${firstMixed.against}`,
  ];
}

function hasOtherMgf(algorithm: SignatureAlgorithm): algorithm is Extract<SignatureAlgorithm, { scheme: 'RSA_PSS' }> {
  return algorithm.scheme === 'RSA_PSS' && algorithm.mgfHash !== algorithm.hash;
}

function offersKeyType(offered: OfferedMechanisms, rsaName: string | undefined, type: KeyType): boolean {
  const bits = rsaBitsOf(type);
  if (bits !== undefined) {
    return rsaName !== undefined && offered.canDo(rsaName, 'generateKeyPair', bits) && offered.canDo('CKM_RSA_PKCS', 'sign', bits);
  }
  const curveBits = type === 'P-256' || type === 'P-384' || type === 'P-521' ? ecBits[type] : 0;
  return offered.canDo('CKM_EC_KEY_PAIR_GEN', 'generateKeyPair', curveBits) && offered.canDo('CKM_ECDSA', 'sign', curveBits);
}

function macFault(session: Session, offered: OfferedMechanisms, profile: ModuleProfile): string | undefined {
  const consequence = 'passwords cannot be checked';
  if (!offered.canDo('CKM_SHA256_HMAC', 'signAndVerify')) {
    return `the token cannot make and verify HMAC-SHA256 (CKM_SHA256_HMAC): ${consequence}`;
  }
  if (!offered.canDo(profile.macKey.mechanism, 'generate')) {
    return `the token cannot make a key for HMAC-SHA256 (${profile.macKey.mechanism}): ${consequence}`;
  }
  if (!profile.sessionKeys) return undefined;
  const against = reasonAgainst(() => {
    tryMac(session, profile);
  });
  return against === undefined ? undefined : `the token offers HMAC-SHA256 (CKM_SHA256_HMAC) and fails at it, ${against}: ${consequence}`;
}

function randomFault(session: Session): string | undefined {
  const against = reasonAgainst(() => {
    tryRandom(session);
  });
  return against === undefined ? undefined : `the token gives no random bytes (C_GenerateRandom), ${against}: no password can be made`;
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
