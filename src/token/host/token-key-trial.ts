import { constants, createHash, createPublicKey, randomBytes, verify } from 'node:crypto';
import type { Handle } from 'pkcs11js';
import type { KeyType } from '../../config/key-types.ts';
import { keyIdBytes, newKeyId, type KeyId } from '../key-id.ts';
import { findById } from './find-objects.ts';
import { hmacs, isHmac, makeHmac } from './hmac.ts';
import { claimKey, createKeyPair, destroyKeys, generateSecretKey, type KeyRules } from './key-objects.ts';
import { hmacTemplate, labelOf } from './key-templates.ts';
import { signing } from './mechanisms.ts';
import { TrialFailed } from './probe-trials.ts';
import { moduleFaultWords } from '../operator/token-failure.ts';
import { openSession, pkcs11js, type Session } from './session.ts';

const message = Buffer.from('signetd probe');

/** What a trial of keys on the token found, as sentences for an operator. */
export interface TokenKeyFindings {
  readonly missing: readonly string[];
  readonly limits: readonly string[];
}

/**
 * Makes a key pair and a key for HMAC on the token, as the service does, and tries with each what the
 * service needs: another session finds it, it has the attributes that protect it, it works, a pair
 * takes another label, and it is gone once it is destroyed. Session keys show nothing of this.
 */
export function tryTokenKeys(session: Session, slot: Handle, type: KeyType, rules: KeyRules): TokenKeyFindings {
  const other = openSession(session.module, slot);
  try {
    let canLabel = true;
    const ofPair = whyNot(() => {
      canLabel = tryPair(session, other, type, rules);
    });
    const ofMac = whyNot(() => {
      tryHmacKey(session, other, rules);
    });
    return {
      missing: [
        ...(ofPair === undefined ? [] : [`the token keeps no ${type} keys as the service needs them: ${ofPair}`]),
        ...(ofMac === undefined ? [] : [`the token keeps no keys for HMAC as the service needs them: ${ofMac}`]),
      ],
      limits: canLabel
        ? []
        : ['the label of a key cannot be changed, so that keys cannot be made ahead: set keyPool.keys to 0, and they are made on demand'],
    };
  } finally {
    session.module.C_CloseSession(other.handle);
  }
}

/**
 * Whatever a token answers here it answers the service too: NSS refuses an attribute with
 * CKR_GENERAL_ERROR.
 */
function whyNot(trial: () => void): string | undefined {
  try {
    trial();
    return undefined;
  } catch (error) {
    return moduleFaultWords(error).text;
  }
}

/** Returns whether the label can be changed. */
function tryPair(session: Session, other: Session, type: KeyType, rules: KeyRules): boolean {
  const id = newKeyId('general');
  try {
    const { publicKeyInfo } = createKeyPair(session, { id }, type, rules);
    const found = onlyKey(other, id, pkcs11js.CKO_PRIVATE_KEY);
    checkAttributes(other, found, id);
    const key = createPublicKey({ key: publicKeyInfo, format: 'der', type: 'spki' });
    const isRsa = key.asymmetricKeyType === 'rsa';
    const digest = createHash('sha256').update(message).digest();
    const { mechanism, input } = signing({ scheme: isRsa ? 'RSA_PKCS1' : 'ECDSA', hash: 'sha256' }, digest);
    other.module.C_SignInit(other.handle, mechanism, found);
    const value = other.module.C_Sign(other.handle, input, Buffer.alloc(1024));
    const options = isRsa ? { key, padding: constants.RSA_PKCS1_PADDING } : ({ key, dsaEncoding: 'ieee-p1363' } as const);
    if (!verify('sha256', message, options, value)) throw new TrialFailed('another session found it, and its signature does not verify');
    const isMarked = claimKey(session, onlyKey(session, id, pkcs11js.CKO_PRIVATE_KEY), randomBytes(16).toString('hex')) === 'claimed';
    // It is found by its identifier whatever its label is.
    onlyKey(other, id, pkcs11js.CKO_PRIVATE_KEY);
    return isMarked;
  } finally {
    destroyed(session, other, id, pkcs11js.CKO_PRIVATE_KEY, rules);
  }
}

function tryHmacKey(session: Session, other: Session, { profile }: KeyRules): void {
  const id = newKeyId('general');
  try {
    const how = { label: labelOf({ id }, profile), ...hmacs.sha256 };
    generateSecretKey(session, { id }, hmacTemplate({ id }, how, profile), profile);
    const key = onlyKey(other, id, pkcs11js.CKO_SECRET_KEY);
    checkAttributes(other, key, id);
    const used = { hash: 'sha256', key } as const;
    const mac = makeHmac(other, used, message);
    const { comparedBy } = profile.macKey;
    if (!isHmac(other, used, message, mac, comparedBy)) throw new TrialFailed('its MAC does not verify');
    if (isHmac(other, used, message, Buffer.from(mac).fill(1, 0, 1), comparedBy) && mac[0] !== 1)
      throw new TrialFailed('a wrong MAC verifies');
  } finally {
    destroyed(session, other, id, pkcs11js.CKO_SECRET_KEY, { profile });
  }
}

/** @throws {TrialFailed} unless there is exactly one */
function onlyKey(session: Session, id: KeyId, objectClass: number): Handle {
  const found = findById(session, id, objectClass);
  const [key] = found;
  if (key === undefined) throw new TrialFailed('a key that was made is not found by its CKA_ID');
  if (found.length > 1) throw new TrialFailed(`${found.length} keys are found by one CKA_ID`);
  return key;
}

/**
 * Reads back what the template asked for: a token may ignore an attribute.
 * @throws {TrialFailed}
 */
function checkAttributes({ module, handle }: Session, key: Handle, id: KeyId): void {
  const read = (type: number): unknown => module.C_GetAttributeValue(handle, key, [{ type }])[0]?.value;
  const flag = (type: number): boolean => {
    const value = read(type);
    return Buffer.isBuffer(value) ? value[0] !== 0 : value === true;
  };
  const idRead = read(pkcs11js.CKA_ID);
  if (!Buffer.isBuffer(idRead) || !idRead.equals(keyIdBytes(id))) throw new TrialFailed('a key has another CKA_ID than it was given');
  if (!flag(pkcs11js.CKA_TOKEN)) throw new TrialFailed('a key is not kept on the token (CKA_TOKEN)');
  if (!flag(pkcs11js.CKA_SENSITIVE)) throw new TrialFailed('a key is not sensitive (CKA_SENSITIVE)');
  if (flag(pkcs11js.CKA_EXTRACTABLE)) throw new TrialFailed('a key is extractable (CKA_EXTRACTABLE)');
}

function destroyed(session: Session, other: Session, id: KeyId, objectClass: number, { profile }: Pick<KeyRules, 'profile'>): void {
  destroyKeys(session, id, profile);
  if (findById(other, id, objectClass).length > 0) throw new TrialFailed(`a destroyed key is still found, CKA_ID ${id}`);
}
