import type { Handle } from 'pkcs11js';
import { hashBytes } from '../signature-algorithm.ts';
import type { KeyId } from '../key-id.ts';
import type { MacHash, MessageAlgorithm, MessageKeyType } from '../service-keys.ts';
import { operations } from '../wire/frames.ts';
import { readCreateMessageKey, readSignMessage, readVerifyMac } from '../wire/provider-messages.ts';
import { findById, NoSuchKey } from './find-objects.ts';
import { hmacs, isHmac, makeHmac, notNull } from './hmac.ts';
import { generatePair, generateSecretKey } from './key-objects.ts';
import { hmacTemplate, labelOf, signingTemplate, verifyingTemplate } from './key-templates.ts';
import type { ModuleProfile } from './module-profile.ts';
import { ed25519PublicKeyInfo } from './public-key-info.ts';
import { handleIsStale } from '../pkcs11-faults.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';

// PKCS#11 v3.0 §2.3.5; pkcs11js has no names for them.
const edwardsKeyPairGen = 0x1055;
const eddsa = 0x1057;
/** DER of id-Ed25519, 1.3.101.112 (RFC 8410 §3), which PKCS#11 v3.0 §2.3.5 accepts as the curve. */
const ed25519Parameters = Buffer.from('06032b6570', 'hex');
const ed25519SignatureBytes = 64;

/** Cache of key handles, which passes changes to the other threads. */
interface HandleStore {
  get(id: KeyId): Handle | undefined;
  made(id: KeyId, handle: Handle): void;
  found(id: KeyId, handle: Handle): void;
}

/**
 * Keys that sign whole messages: Ed25519 and HMAC. Its requests name only service keys
 * (`wire/provider-messages.ts`).
 */
export class ProviderKeys {
  readonly #sessionNow: () => Session;
  readonly #keys: HandleStore;
  readonly #profile: ModuleProfile;

  /** @param sessionNow the session of this thread, which is reopened after some faults */
  constructor(sessionNow: () => Session, keys: HandleStore, profile: ModuleProfile) {
    this.#sessionNow = sessionNow;
    this.#keys = keys;
    this.#profile = profile;
  }

  /** Executes a request and returns the body of its answer; undefined for any other operation. */
  run(code: number, body: Buffer): Buffer | undefined {
    switch (code) {
      case operations.createMessageKey: {
        const { id, type } = readCreateMessageKey(body);
        return this.#create(id, type);
      }
      case operations.signMessage: {
        const { id, algorithm, message } = readSignMessage(body);
        return this.#sign(id, algorithm, message);
      }
      case operations.verifyMac: {
        const { id, hash, message, mac } = readVerifyMac(body);
        return Buffer.of(this.#verifyMac(id, hash, message, mac) ? 1 : 0);
      }
      default:
        return undefined;
    }
  }

  #create(id: KeyId, type: MessageKeyType): Buffer {
    const session = this.#sessionNow();
    if (type.scheme === 'HMAC') {
      this.#checkHmac(type);
      const how = { label: labelOf({ id }, this.#profile), bytes: type.bytes, mechanism: hmacs[type.hash].mechanism };
      const key = generateSecretKey(session, { id }, hmacTemplate({ id }, how, this.#profile), this.#profile);
      this.#keys.made(id, key);
      return Buffer.alloc(0);
    }
    const how = {
      mechanism: edwardsKeyPairGen,
      publicKey: verifyingTemplate({ id }, [{ type: pkcs11js.CKA_EC_PARAMS, value: ed25519Parameters }], this.#profile),
      privateKey: signingTemplate({ id }, [eddsa], this.#profile),
    };
    const { handle, publicKeyInfo } = generatePair(session, { id }, how, this.#profile, (publicKey) => {
      const [point] = session.module.C_GetAttributeValue(session.handle, publicKey, [{ type: pkcs11js.CKA_EC_POINT }]);
      if (!Buffer.isBuffer(point?.value)) throw new Error('the token returned no public key');
      return ed25519PublicKeyInfo(point.value);
    });
    this.#keys.made(id, handle);
    return publicKeyInfo;
  }

  /**
   * A module whose HMAC keys have their own type makes keys for other hashes in a different way.
   */
  #checkHmac({ hash, bytes }: Extract<MessageKeyType, { scheme: 'HMAC' }>): void {
    const { vendor, macKey } = this.#profile;
    const typed = macKey.keyType === 'CKK_SHA256_HMAC' && hash !== 'sha256';
    const sized = macKey.omit.includes('CKA_VALUE_LEN') && bytes !== hashBytes.sha256;
    if (typed || sized) throw new RangeError(`${vendor} has no HMAC keys of ${bytes} bytes for ${hash}`);
  }

  #sign(id: KeyId, algorithm: MessageAlgorithm, message: Buffer): Buffer {
    if (algorithm.scheme === 'HMAC') {
      return this.#withKey(id, true, (key) => makeHmac(this.#sessionNow(), { hash: algorithm.hash, key }, message));
    }
    return this.#withKey(id, false, (key) => {
      const { module, handle } = this.#sessionNow();
      module.C_SignInit(handle, { mechanism: eddsa }, key);
      return module.C_Sign(handle, notNull(message), Buffer.alloc(ed25519SignatureBytes));
    });
  }

  #verifyMac(id: KeyId, hash: MacHash, message: Buffer, mac: Buffer): boolean {
    if (mac.length !== hashBytes[hash]) return false;
    return this.#withKey(id, true, (key) => isHmac(this.#sessionNow(), { hash, key }, message, mac, this.#profile.macKey.comparedBy));
  }

  /** Uses the cached handle; a stale one is looked up once more. */
  #withKey<T>(id: KeyId, isMac: boolean, use: (handle: Handle) => T): T {
    const search = (): Handle => {
      const [found] = findById(this.#sessionNow(), id, isMac ? pkcs11js.CKO_SECRET_KEY : pkcs11js.CKO_PRIVATE_KEY);
      if (found === undefined) throw new NoSuchKey(id);
      this.#keys.found(id, found);
      return found;
    };
    const kept = this.#keys.get(id) ?? search();
    try {
      return use(kept);
    } catch (error) {
      if (!handleIsStale(pkcs11Code(error))) throw error;
      return use(search());
    }
  }
}
