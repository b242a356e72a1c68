import type { Handle } from 'pkcs11js';
import { keyTypes, type KeyType } from '../../config/key-types.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { faultKindOf } from '../pkcs11-faults.ts';
import type { SignatureAlgorithm } from '../signature-algorithm.ts';
import type { ProbeReport } from '../wire/probe-report.ts';
import { capabilitiesOf, verdict, withoutMac, type Capabilities } from './capabilities.ts';
import { findByLabel } from './find-objects.ts';
import type { KeyRules } from './key-objects.ts';
import { macKeyLabel } from './key-templates.ts';
import { findMacKeys, severalMacKeysFault } from './mac-key.ts';
import { rsaKeyPairMechanisms } from './mechanism-names.ts';
import type { ModuleProfile } from './module-profile.ts';
import { OfferedMechanisms } from './offered-mechanisms.ts';
import { algorithmsOf, reasonAgainst, tryKeyType, tryMac, tryRandom } from './probe-trials.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';
import { tryTokenKeys } from './token-key-trial.ts';
import { reportModule, reportToken } from './token-report.ts';

/** A probe's report, and the rules for making keys on this token. */
export interface Probed {
  readonly report: ProbeReport;
  readonly rules: KeyRules;
}

/**
 * Checks with session keys whether the token supports what the service needs. At a start it tries
 * only what is quick (HMAC, random, P-256) and trusts the token's own list for the rest; `full`
 * makes and tries keys of every type, which takes seconds, and two keys on the token.
 * @throws the module's error if something fails for another reason than missing support
 */
export function probeToken(session: Session, slot: Handle, profile: ModuleProfile, { full }: { readonly full: boolean }): Probed {
  const { module } = session;
  const offered = new OfferedMechanisms(module, slot, profile);
  const capabilities = capabilitiesOf(offered, profile);
  const rules = { profile, rsaKeyPairMechanism: rsaKeyPairMechanisms[capabilities.rsaKeyPairMechanism ?? 'CKM_RSA_PKCS_KEY_PAIR_GEN'] };
  const macKeys = findMacKeys(session);
  // After a rotation none has the first identifier.
  const [known] = macKeys.length > 0 ? macKeys : findByLabel(session, macKeyLabel, pkcs11js.CKO_SECRET_KEY);
  const faults = [macFault(session, capabilities, profile, known), severalMacKeysFault(macKeys.length), randomFault(session)].filter(
    (line) => line !== undefined,
  );
  const found: string[] = [];
  const states = keyTypes.map((type) => {
    if (!capabilities.keyTypes.includes(type)) return { type, state: 'missing' as const };
    if (!profile.sessionKeys || !(full || type === 'P-256')) return { type, state: 'offered' as const };
    // A token that is full still signs with the keys that it has.
    const isUsed = known !== undefined && !full;
    return { type, state: triedState(session, type, rules, { full, isUsed }, found) };
  });
  const offeredTypes = states.filter(({ state }) => state !== 'missing').map(({ type }) => type);
  const usable = offeredTypes.includes('P-256') ? 'P-256' : offeredTypes[0];
  const kept = full && usable !== undefined ? tryTokenKeys(session, slot, usable, rules) : { missing: [], limits: [] };
  const { missing, limits } = verdict(
    capabilities,
    [...faults, ...kept.missing],
    states.some(({ state }) => state !== 'missing'),
  );
  if (!profile.sessionKeys) {
    const tried = full
      ? `only ${usable ?? 'no'} keys and HMAC were tried, with keys on the token`
      : "the token's mechanisms were not tried";
    found.push(`${profile.vendor} makes no session keys: ${tried}`);
  }
  const report: ProbeReport = {
    vendor: profile.vendor,
    module: reportModule(module),
    token: reportToken(module, slot),
    full,
    mechanisms: [...offered.findings],
    keyTypes: states,
    missing,
    limits: [...limits, ...found, ...kept.limits],
  };
  return { report, rules };
}

function triedState(
  session: Session,
  type: KeyType,
  rules: KeyRules,
  { full, isUsed }: { readonly full: boolean; readonly isUsed: boolean },
  limits: string[],
): 'works' | 'offered' | 'missing' {
  let made: ReturnType<typeof tryKeyType> = [];
  let against: string | undefined;
  try {
    against = reasonAgainst(() => {
      made = tryKeyType(session, type, algorithmsOf(type, full), rules);
    });
  } catch (error) {
    const code = pkcs11Code(error);
    if (!isUsed || code === undefined || faultKindOf(code, { makesKey: true }) === 'lost') throw error;
    limits.push(`${type} keys were not tried: the token makes no key now, ${reasonOf(error)}`);
    return 'offered';
  }
  const [first] = made;
  if (against !== undefined || first === undefined || first.against !== undefined) {
    limits.push(`${type} keys cannot be used: the token offers them, but a trial failed with ${against ?? first?.against ?? 'nothing'}`);
    return 'missing';
  }
  limits.push(...algorithmLimits(type, made));
  return 'works';
}

function algorithmLimits(type: KeyType, tried: ReturnType<typeof tryKeyType>): string[] {
  const refused = tried.filter(({ against }) => against !== undefined);
  const line = ({ algorithm, against }: (typeof refused)[number]): string =>
    hasOtherMgf(algorithm)
      ? `RSASSA-PSS with ${algorithm.hash} cannot use MGF1 with ${algorithm.mgfHash}: ${against}`
      : `${type} keys cannot sign ${algorithm.scheme} with ${algorithm.hash}: ${against}`;
  const [firstMixed] = refused.filter(({ algorithm }) => hasOtherMgf(algorithm));
  if (firstMixed === undefined || tried.some(({ algorithm, against }) => hasOtherMgf(algorithm) && against === undefined))
    return refused.map(line);
  return [
    ...refused.filter(({ algorithm }) => !hasOtherMgf(algorithm)).map(line),
    `RSASSA-PSS works only if MGF1 uses the same hash as the digest: another hash fails with ${firstMixed.against}`,
  ];
}

function hasOtherMgf(algorithm: SignatureAlgorithm): algorithm is Extract<SignatureAlgorithm, { scheme: 'RSA_PSS' }> {
  return algorithm.scheme === 'RSA_PSS' && algorithm.mgfHash !== algorithm.hash;
}

function macFault(session: Session, capabilities: Capabilities, profile: ModuleProfile, known: Handle | undefined): string | undefined {
  if (capabilities.macFault !== undefined || (!profile.sessionKeys && known === undefined)) return capabilities.macFault;
  const against = reasonAgainst(() => {
    tryMac(session, profile, known);
  });
  return against === undefined ? undefined : `the token offers HMAC-SHA256 (CKM_SHA256_HMAC) but it fails, ${against}: ${withoutMac}`;
}

function randomFault(session: Session): string | undefined {
  const against = reasonAgainst(() => {
    tryRandom(session);
  });
  return against === undefined
    ? undefined
    : `the token returns no random bytes (C_GenerateRandom), ${against}: passwords cannot be generated`;
}
