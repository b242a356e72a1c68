import type { Attribute, Handle } from 'pkcs11js';
import type { KeyType } from '../../config/profile.ts';
import { keyIdOf, macKeyId, type KeyId } from '../key-id.ts';
import { findById, findByLabel, findObjects } from './find-objects.ts';
import {
  curveOf,
  curves,
  idInLabel,
  labelOf,
  macKeyLabel,
  macKeyTemplate,
  privateTemplate,
  publicTemplate,
  rsaBitsOf,
  type KeyPlace,
} from './key-templates.ts';
import { macKeyMechanisms } from './mechanism-names.ts';
import type { ModuleProfile } from './module-profile.ts';
import { ecPublicKeyInfo, rsaPublicKeyInfo } from './public-key-info.ts';
import { pkcs11js, type Session } from './session.ts';

/** How keys are made on this token: the module's profile, and which of its RSA mechanisms the token offers. */
export interface KeyRules {
  readonly profile: ModuleProfile;
  readonly rsaKeyPairMechanism: number;
}

/** Makes a key pair whose private half can only sign, and returns its public key (SubjectPublicKeyInfo, DER). */
export function createKeyPair(
  session: Session,
  place: KeyPlace,
  type: KeyType,
  rules: KeyRules,
): { handle: Handle; publicKeyInfo: Buffer } {
  const { module } = session;
  const { profile } = rules;
  const mechanism = rsaBitsOf(type) === undefined ? pkcs11js.CKM_EC_KEY_PAIR_GEN : rules.rsaKeyPairMechanism;
  const keys = module.C_GenerateKeyPair(
    session.handle,
    { mechanism },
    publicTemplate(place, type, profile),
    privateTemplate(place, type, profile),
  );
  try {
    const publicKeyInfo = readPublicKey(session, keys.publicKey, type);
    // From here on the key is found by its identifier; a kill before leaves one that its label names.
    if (place !== 'session' && profile.idAfterGeneration) setId(session, keys.privateKey, place.id);
    return { handle: keys.privateKey, publicKeyInfo };
  } catch (error) {
    module.C_DestroyObject(session.handle, keys.privateKey);
    throw error;
  } finally {
    module.C_DestroyObject(session.handle, keys.publicKey);
  }
}

/** The key that secrets are checked with, made at the first start. */
export function ensureMacKey(session: Session, profile: ModuleProfile): Handle {
  const [found] = findById(session, macKeyId, pkcs11js.CKO_SECRET_KEY);
  if (found !== undefined) return found;
  // One whose making was cut short before it had its identifier has made no MAC yet.
  const [unfinished] = profile.idAfterGeneration ? findByLabel(session, macKeyLabel, pkcs11js.CKO_SECRET_KEY) : [];
  const made = unfinished ?? makeMacKey(session, { id: macKeyId }, profile);
  if (profile.idAfterGeneration) setId(session, made, macKeyId);
  return made;
}

export function makeMacKey({ module, handle }: Session, place: KeyPlace, profile: ModuleProfile): Handle {
  return module.C_GenerateKey(handle, { mechanism: macKeyMechanisms[profile.macKey.mechanism] }, macKeyTemplate(place, profile));
}

/**
 * Every private key of ours on the token, with its handle. Walked once, at the start. Keys that a kill left without their identifier get it:
 * the journal of whoever ordered one then finds it and destroys it.
 */
export function listPrivateKeys(session: Session, profile: ModuleProfile): Map<KeyId, Handle> {
  const keys = new Map<KeyId, Handle>();
  for (const handle of findObjects(session, [{ type: pkcs11js.CKA_CLASS, value: pkcs11js.CKO_PRIVATE_KEY }])) {
    const id = identifierOf(session, handle) ?? (profile.idAfterGeneration ? completeIdentifier(session, handle) : undefined);
    // A key of somebody else on the same token is not ours to use.
    if (id !== undefined) keys.set(id, handle);
  }
  return keys;
}

/** Destroys every key with this identifier, and what a kill left of its making. */
export function destroyKeys(session: Session, id: KeyId, profile: ModuleProfile): void {
  const classes = profile.publicKey.onToken ? [pkcs11js.CKO_PRIVATE_KEY, pkcs11js.CKO_PUBLIC_KEY] : [pkcs11js.CKO_PRIVATE_KEY];
  for (const objectClass of classes) {
    for (const handle of findById(session, id, objectClass)) session.module.C_DestroyObject(session.handle, handle);
    if (!profile.idAfterGeneration) continue;
    for (const handle of findByLabel(session, labelOf({ id }, profile), objectClass))
      session.module.C_DestroyObject(session.handle, handle);
  }
}

function identifierOf({ module, handle }: Session, key: Handle): KeyId | undefined {
  const [attribute] = module.C_GetAttributeValue(handle, key, [{ type: pkcs11js.CKA_ID }]);
  const id = attribute?.value;
  if (!Buffer.isBuffer(id)) return undefined;
  try {
    return keyIdOf(id);
  } catch {
    return undefined;
  }
}

function completeIdentifier(session: Session, key: Handle): KeyId | undefined {
  const [attribute] = session.module.C_GetAttributeValue(session.handle, key, [{ type: pkcs11js.CKA_LABEL }]);
  const label: unknown = attribute?.value;
  const id = Buffer.isBuffer(label) ? idInLabel(label.toString('utf8')) : undefined;
  if (id !== undefined) setId(session, key, id);
  return id;
}

function setId({ module, handle }: Session, key: Handle, id: KeyId): void {
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
  if (!Buffer.isBuffer(attribute?.value)) throw new Error('the token gives no public key');
  return attribute.value;
}
