import type { Attribute, Handle } from 'pkcs11js';
import type { KeyType } from '../../config/key-types.ts';
import { isMacKeyId, keyOwner, type KeyId } from '../key-id.ts';
import { changeIsRefused, ckr, generationMayPass, handleIsStale } from '../pkcs11-faults.ts';
import { findById, findByLabel } from './find-objects.ts';
import {
  curveOf,
  curves,
  isOurLabel,
  labelOf,
  macKeyTemplate,
  privateTemplate,
  publicTemplate,
  rsaBitsOf,
  type KeyPlace,
} from './key-templates.ts';
import { macKeyMechanisms } from './mechanism-names.ts';
import type { ModuleProfile } from './module-profile.ts';
import { ecPublicKeyInfo, rsaPublicKeyInfo } from './public-key-info.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';
import type { ClaimOutcome } from '../token.ts';

/**
 * Rules for making keys on this token: the module's profile, and the RSA mechanism that the token
 * offers.
 */
export interface KeyRules {
  readonly profile: ModuleProfile;
  readonly rsaKeyPairMechanism: number;
}

export interface MadePair {
  readonly handle: Handle;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKeyInfo: Buffer;
}

/** Makes a key pair whose private half can only sign, and returns its public key. */
export function createKeyPair(session: Session, place: KeyPlace, type: KeyType, { profile, rsaKeyPairMechanism }: KeyRules): MadePair {
  const mechanism = rsaBitsOf(type) === undefined ? pkcs11js.CKM_EC_KEY_PAIR_GEN : rsaKeyPairMechanism;
  const templates = { publicKey: publicTemplate(place, type, profile), privateKey: privateTemplate(place, type, profile) };
  return generatePair(session, place, { mechanism, ...templates }, profile, (publicKey) => readPublicKey(session, publicKey, type));
}

/** Mechanism and templates of a key pair. */
interface PairRecipe {
  readonly mechanism: number;
  readonly publicKey: Attribute[];
  readonly privateKey: Attribute[];
}

/**
 * Makes a key pair from these templates. `read` takes what is needed from the public key, which is
 * destroyed at once.
 */
export function generatePair(
  session: Session,
  place: KeyPlace,
  how: PairRecipe,
  profile: ModuleProfile,
  read: (publicKey: Handle) => Buffer,
): MadePair {
  return attempted(session, place, profile, () => generatePairOnce(session, place, how, profile, read));
}

/**
 * Makes a key, and tries again if that failed as it may in passing under this profile. What a
 * failed attempt left is destroyed first, so that there is one key with the identifier; of the MAC
 * key nothing is ever destroyed, so there is one attempt.
 */
function attempted<T>(session: Session, place: KeyPlace, profile: ModuleProfile, make: () => T): T {
  let left = place !== 'session' && isMacKeyId(place.id) ? 1 : profile.generationAttempts;
  for (;;) {
    left -= 1;
    try {
      return make();
    } catch (error) {
      if (left === 0 || !generationMayPass(pkcs11Code(error))) throw error;
    }
    if (place !== 'session') destroyKeys(session, place.id, profile);
  }
}

function generatePairOnce(
  session: Session,
  place: KeyPlace,
  how: PairRecipe,
  profile: ModuleProfile,
  read: (publicKey: Handle) => Buffer,
): MadePair {
  const { module, handle } = session;
  const keys = module.C_GenerateKeyPair(handle, { mechanism: how.mechanism }, how.publicKey, how.privateKey);
  try {
    const publicKeyInfo = read(keys.publicKey);
    if (place !== 'session') ensureId(session, keys.privateKey, place.id, profile);
    return { handle: keys.privateKey, publicKeyInfo };
  } catch (error) {
    module.C_DestroyObject(handle, keys.privateKey);
    throw error;
  } finally {
    module.C_DestroyObject(handle, keys.publicKey);
  }
}

/** Makes the key that secrets are checked with. */
export function makeMacKey(session: Session, place: KeyPlace, profile: ModuleProfile): Handle {
  return generateSecretKey(session, place, macKeyTemplate(place, profile), profile);
}

/** Makes a secret key for HMAC from this template. */
export function generateSecretKey(session: Session, place: KeyPlace, template: Attribute[], profile: ModuleProfile): Handle {
  return attempted(session, place, profile, () => generateSecretKeyOnce(session, place, template, profile));
}

function generateSecretKeyOnce(session: Session, place: KeyPlace, template: Attribute[], profile: ModuleProfile): Handle {
  const mechanism = macKeyMechanisms[profile.macKey.mechanism];
  const key = session.module.C_GenerateKey(session.handle, { mechanism }, template);
  if (place === 'session') return key;
  try {
    ensureId(session, key, place.id, profile);
    return key;
  } catch (error) {
    session.module.C_DestroyObject(session.handle, key);
    throw error;
  }
}

/**
 * Destroys every private key with this identifier, every HMAC key of the service except the MAC
 * key, and what a kill left of either. A caller's key with a cached handle is one object, since
 * identifiers are never reused: it is destroyed without a search, which is slow on a full token.
 */
export function destroyKeys(session: Session, id: KeyId, profile: ModuleProfile, kept?: Handle): void {
  const { module, handle } = session;
  const isOneObject = keyOwner(id) === 'caller' && !profile.publicKey.onToken && !profile.idAfterGeneration;
  if (kept !== undefined && isOneObject && destroyIfStillThere(session, id, kept)) return;
  const classes = [pkcs11js.CKO_PRIVATE_KEY];
  if (keyOwner(id) === 'service' && !isMacKeyId(id)) classes.push(pkcs11js.CKO_SECRET_KEY);
  if (profile.publicKey.onToken) classes.push(pkcs11js.CKO_PUBLIC_KEY);
  for (const objectClass of classes) {
    for (const key of findById(session, id, objectClass)) module.C_DestroyObject(handle, key);
    if (!profile.idAfterGeneration) continue;
    for (const key of findByLabel(session, labelOf({ id }, profile), objectClass)) module.C_DestroyObject(handle, key);
  }
}

/** Destroys a key by its handle if the handle still refers to this key. Returns whether it did. */
export function destroyIfStillThere(session: Session, id: KeyId, key: Handle): boolean {
  try {
    if (idBytesOf(session, key)?.equals(Buffer.from(id, 'hex')) !== true) return false;
    session.module.C_DestroyObject(session.handle, key);
    return true;
  } catch (error) {
    if (!handleIsStale(pkcs11Code(error))) throw error;
    return false;
  }
}

export function idBytesOf({ module, handle }: Session, key: Handle): Buffer | undefined {
  const [attribute] = module.C_GetAttributeValue(handle, key, [{ type: pkcs11js.CKA_ID }]);
  return Buffer.isBuffer(attribute?.value) ? attribute.value : undefined;
}

/**
 * Gives a new key its identifier if it has none yet, and checks that the token keeps it: SoftHSM
 * may lose attributes of a key that is made while another thread searches keys, or another process
 * lists them. From here on the key is found by its identifier; after an earlier kill it is found by
 * its label.
 */
function ensureId(session: Session, key: Handle, id: KeyId, profile: ModuleProfile): void {
  if (profile.idAfterGeneration) setId(session, key, id);
  try {
    if (idBytesOf(session, key)?.equals(Buffer.from(id, 'hex')) === true) return;
  } catch (error) {
    // SoftHSM's answer for a key that has lost its class.
    if (pkcs11Code(error) !== ckr.ATTRIBUTE_VALUE_INVALID) throw error;
  }
  throw new Error(`CKR_TEMPLATE_INCONSISTENT:${ckr.TEMPLATE_INCONSISTENT} the new key lacks attributes`);
}

export function setId({ module, handle }: Session, key: Handle, id: KeyId): void {
  module.C_SetAttributeValue(handle, key, [{ type: pkcs11js.CKA_ID, value: Buffer.from(id, 'hex') }]);
}

function readPublicKey({ module, handle }: Session, key: Handle, type: KeyType): Buffer {
  if (rsaBitsOf(type) === undefined) {
    const [point] = module.C_GetAttributeValue(handle, key, [{ type: pkcs11js.CKA_EC_POINT }]);
    return ecPublicKeyInfo(curves[curveOf(type)], bufferOf(point));
  }
  const [modulus, exponent] = module.C_GetAttributeValue(handle, key, [
    { type: pkcs11js.CKA_MODULUS },
    { type: pkcs11js.CKA_PUBLIC_EXPONENT },
  ]);
  return rsaPublicKeyInfo(bufferOf(modulus), bufferOf(exponent));
}

function bufferOf(attribute: Attribute | undefined): Buffer {
  if (!Buffer.isBuffer(attribute?.value)) throw new Error('the token returned no public key');
  return attribute.value;
}

/**
 * Marks a key as handed out by setting its label (CKA_LABEL). The same claim may be repeated if the
 * host died during the first.
 */
export function claimKey({ module, handle }: Session, key: Handle, claim: string): ClaimOutcome {
  const [attribute] = module.C_GetAttributeValue(handle, key, [{ type: pkcs11js.CKA_LABEL }]);
  const label = Buffer.isBuffer(attribute?.value) ? attribute.value.toString('utf8') : attribute?.value;
  const claimed = `signetd in use ${claim}`;
  if (label === claimed) return 'claimed';
  if (typeof label !== 'string' || !isOurLabel(label)) return 'taken';
  try {
    module.C_SetAttributeValue(handle, key, [{ type: pkcs11js.CKA_LABEL, value: claimed }]);
    return 'claimed';
  } catch (error) {
    if (changeIsRefused(pkcs11Code(error))) return 'unmarkable';
    throw error;
  }
}
