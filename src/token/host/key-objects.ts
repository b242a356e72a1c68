import type { Attribute, Handle } from 'pkcs11js';
import type { KeyType } from '../../config/profile.ts';
import { keyIdOf, keyOwner, macKeyId, type KeyId } from '../key-id.ts';
import { handleIsStale } from '../pkcs11-faults.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';
import { ecPublicKeyInfo, rsaPublicKeyInfo } from './public-key-info.ts';

const curves = {
  'P-256': Buffer.from('06082a8648ce3d030107', 'hex'),
  'P-384': Buffer.from('06052b81040022', 'hex'),
  'P-521': Buffer.from('06052b81040023', 'hex'),
} as const;

const findBatch = 256;
/** The label of a key that was made and not handed out from a pool. */
export const keyLabel = 'signetd';

/** Makes a key pair whose private half can only sign, and returns its public key (SubjectPublicKeyInfo, DER). */
export function createKeyPair(session: Session, id: KeyId, type: KeyType): { handle: Handle; publicKeyInfo: Buffer } {
  const { module } = session;
  const rsaBits = type.startsWith('RSA-') ? Number(type.slice(4)) : undefined;
  const mechanism = rsaBits === undefined ? pkcs11js.CKM_EC_KEY_PAIR_GEN : pkcs11js.CKM_RSA_PKCS_KEY_PAIR_GEN;
  const allowed = rsaBits === undefined ? [pkcs11js.CKM_ECDSA] : [pkcs11js.CKM_RSA_PKCS, pkcs11js.CKM_RSA_PKCS_PSS];
  const publicTemplate: Attribute[] = [
    // The public key leaves in the certificate; as a token object it would only take room.
    { type: pkcs11js.CKA_TOKEN, value: false },
    { type: pkcs11js.CKA_VERIFY, value: true },
    ...(rsaBits === undefined
      ? [{ type: pkcs11js.CKA_EC_PARAMS, value: curves[ecType(type)] }]
      : [
          { type: pkcs11js.CKA_MODULUS_BITS, value: rsaBits },
          { type: pkcs11js.CKA_PUBLIC_EXPONENT, value: Buffer.from([1, 0, 1]) },
        ]),
  ];
  const keys = module.C_GenerateKeyPair(session.handle, { mechanism }, publicTemplate, privateTemplate(id, allowed));
  try {
    return { handle: keys.privateKey, publicKeyInfo: readPublicKey(session, keys.publicKey, type, rsaBits !== undefined) };
  } catch (error) {
    module.C_DestroyObject(session.handle, keys.privateKey);
    throw error;
  } finally {
    module.C_DestroyObject(session.handle, keys.publicKey);
  }
}

/** The key that secrets are checked with: generic, non-extractable, HMAC-SHA256 alone. Made at the first start. */
export function ensureMacKey(session: Session): Handle {
  const { module } = session;
  const [found] = findById(session, macKeyId, pkcs11js.CKO_SECRET_KEY);
  if (found !== undefined) return found;
  const template = macKeyTemplate(macKeyId, 'signetd secrets', 32, pkcs11js.CKM_SHA256_HMAC);
  return module.C_GenerateKey(session.handle, { mechanism: pkcs11js.CKM_GENERIC_SECRET_KEY_GEN }, template);
}

/** A secret key for one HMAC alone: it signs and verifies. */
export function macKeyTemplate(id: KeyId, label: string, bytes: number, mechanism: number): Attribute[] {
  return [
    { type: pkcs11js.CKA_CLASS, value: pkcs11js.CKO_SECRET_KEY },
    { type: pkcs11js.CKA_KEY_TYPE, value: pkcs11js.CKK_GENERIC_SECRET },
    { type: pkcs11js.CKA_VALUE_LEN, value: bytes },
    { type: pkcs11js.CKA_ID, value: Buffer.from(id, 'hex') },
    { type: pkcs11js.CKA_LABEL, value: label },
    { type: pkcs11js.CKA_TOKEN, value: true },
    { type: pkcs11js.CKA_PRIVATE, value: true },
    { type: pkcs11js.CKA_SENSITIVE, value: true },
    { type: pkcs11js.CKA_EXTRACTABLE, value: false },
    { type: pkcs11js.CKA_SIGN, value: true },
    { type: pkcs11js.CKA_VERIFY, value: true },
    { type: pkcs11js.CKA_ENCRYPT, value: false },
    { type: pkcs11js.CKA_DECRYPT, value: false },
    { type: pkcs11js.CKA_WRAP, value: false },
    { type: pkcs11js.CKA_UNWRAP, value: false },
    { type: pkcs11js.CKA_DERIVE, value: false },
    { type: pkcs11js.CKA_ALLOWED_MECHANISMS, value: mechanismList([mechanism]) },
  ];
}

/**
 * Every key of ours on the token but the one that secrets are checked with, by its handle. Walked once, at the start. What a kill left half-made on the
 * way is destroyed: it has no identifier yet, so that the journal, which knows keys by theirs, would never find it.
 */
export function listKeys(session: Session): Map<KeyId, Handle> {
  const keys = new Map<KeyId, Handle>();
  for (const handle of [pkcs11js.CKO_PRIVATE_KEY, pkcs11js.CKO_SECRET_KEY].flatMap((value) =>
    find(session, [{ type: pkcs11js.CKA_CLASS, value }]),
  )) {
    const [attribute] = session.module.C_GetAttributeValue(session.handle, handle, [{ type: pkcs11js.CKA_ID }]);
    const id = attribute?.value;
    if (!Buffer.isBuffer(id)) continue;
    if (id.length === 0 && isHalfMade(session, handle)) {
      session.module.C_DestroyObject(session.handle, handle);
      continue;
    }
    try {
      keys.set(keyIdOf(id), handle);
    } catch {
      // A key of somebody else on the same token: not ours to use.
    }
  }
  keys.delete(macKeyId);
  return keys;
}

/** Seen at a start, a key without identifier is half-made if it is in the store without being a token object, or has our label. */
function isHalfMade({ module, handle }: Session, key: Handle): boolean {
  const [isToken, label] = module.C_GetAttributeValue(handle, key, [{ type: pkcs11js.CKA_TOKEN }, { type: pkcs11js.CKA_LABEL }]);
  const kept = Buffer.isBuffer(isToken?.value) ? isToken.value[0] !== 0 : isToken?.value === true;
  return !kept || (Buffer.isBuffer(label?.value) ? label.value.toString('utf8') : label?.value) === keyLabel;
}

/** Destroys every private key with this identifier, and every HMAC key of the service but the one that secrets are checked with. */
export function destroyKeys(session: Session, id: KeyId): void {
  const mayBeSecret = keyOwner(id) === 'service' && id !== macKeyId;
  for (const objectClass of mayBeSecret ? [pkcs11js.CKO_PRIVATE_KEY, pkcs11js.CKO_SECRET_KEY] : [pkcs11js.CKO_PRIVATE_KEY]) {
    for (const handle of findById(session, id, objectClass)) session.module.C_DestroyObject(session.handle, handle);
  }
}

/** Destroys a key by the handle that it was made with, if that handle still means this key. */
export function destroyIfStillThere({ module, handle: session }: Session, id: KeyId, key: Handle): void {
  try {
    const [attribute] = module.C_GetAttributeValue(session, key, [{ type: pkcs11js.CKA_ID }]);
    if (Buffer.isBuffer(attribute?.value) && attribute.value.equals(Buffer.from(id, 'hex'))) module.C_DestroyObject(session, key);
  } catch (error) {
    if (!handleIsStale(pkcs11Code(error))) throw error;
  }
}

export function findById(session: Session, id: KeyId, objectClass: number): Handle[] {
  return find(session, [
    { type: pkcs11js.CKA_CLASS, value: objectClass },
    { type: pkcs11js.CKA_ID, value: Buffer.from(id, 'hex') },
  ]);
}

export function find({ module, handle }: Session, template: Attribute[]): Handle[] {
  module.C_FindObjectsInit(handle, template);
  try {
    const found: Handle[] = [];
    for (;;) {
      const batch = module.C_FindObjects(handle, findBatch);
      found.push(...batch);
      if (batch.length < findBatch) return found;
    }
  } finally {
    module.C_FindObjectsFinal(handle);
  }
}

/** A private key for signing alone, by these mechanisms. */
export function privateTemplate(id: KeyId, allowedMechanisms: readonly number[]): Attribute[] {
  return [
    { type: pkcs11js.CKA_ID, value: Buffer.from(id, 'hex') },
    { type: pkcs11js.CKA_LABEL, value: keyLabel },
    { type: pkcs11js.CKA_TOKEN, value: true },
    { type: pkcs11js.CKA_PRIVATE, value: true },
    { type: pkcs11js.CKA_SENSITIVE, value: true },
    { type: pkcs11js.CKA_EXTRACTABLE, value: false },
    { type: pkcs11js.CKA_SIGN, value: true },
    { type: pkcs11js.CKA_DECRYPT, value: false },
    { type: pkcs11js.CKA_UNWRAP, value: false },
    { type: pkcs11js.CKA_DERIVE, value: false },
    { type: pkcs11js.CKA_ALLOWED_MECHANISMS, value: mechanismList(allowedMechanisms) },
  ];
}

/** CK_MECHANISM_TYPE array: unsigned longs in the machine's order, which is little-endian on x86-64 and arm64. */
function mechanismList(mechanisms: readonly number[]): Buffer {
  const bytes = Buffer.alloc(8 * mechanisms.length);
  for (const [index, mechanism] of mechanisms.entries()) bytes.writeBigUInt64LE(BigInt(mechanism), 8 * index);
  return bytes;
}

function readPublicKey({ module, handle }: Session, key: Handle, type: KeyType, isRsa: boolean): Buffer {
  if (!isRsa) {
    const [point] = module.C_GetAttributeValue(handle, key, [{ type: pkcs11js.CKA_EC_POINT }]);
    return ecPublicKeyInfo(curves[ecType(type)], bufferOf(point));
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

function ecType(type: KeyType): keyof typeof curves {
  if (type === 'P-256' || type === 'P-384' || type === 'P-521') return type;
  throw new Error(`${type} is no elliptic curve`);
}
