import type { Handle } from 'pkcs11js';
import { keyIdOf, keyOwner, type KeyId } from '../key-id.ts';
import type { Proof } from '../token.ts';
import { FieldReader, FieldWriter, WireError } from '../wire/fields.ts';
import { operations, statuses, type Frame } from '../wire/frames.ts';
import { macInput, readCreateKey, readMakeMac, readSign, readVerifyProof } from '../wire/messages.ts';
import { findById } from './find-objects.ts';
import { createKeyPair, destroyKeys, type KeyRules } from './key-objects.ts';
import { signing } from './mechanisms.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';

export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

/** What the threads of a host share: where keys are. A change is told to the other threads. */
export interface KeyHandles {
  get(id: KeyId): Handle | undefined;
  added(id: KeyId, handle: Handle): void;
  removed(id: KeyId): void;
  all(): Iterable<KeyId>;
}

const maxSignatureBytes = 1024;
const signatureInvalid = 0xc0;
const signatureLengthRange = 0xc1;
const staleHandle = new Set([0x60, 0x82]);
const maxRandomBytes = 1024;
const nothing = Buffer.alloc(0);

/** Carries out requests on one session. Its rule: a caller's key signs only after the token has verified a proof for that very key. */
export class Executor {
  readonly #session: Session;
  readonly #keys: KeyHandles;
  readonly #macKey: Handle;
  readonly #rules: KeyRules;

  constructor(session: Session, keys: KeyHandles, macKey: Handle, rules: KeyRules) {
    this.#session = session;
    this.#keys = keys;
    this.#macKey = macKey;
    this.#rules = rules;
  }

  execute(frame: Frame): Answer {
    try {
      return this.#run(frame);
    } catch (error) {
      if (error instanceof WireError || error instanceof RangeError) {
        return { status: statuses.malformed, body: Buffer.from(error.message) };
      }
      const text = error instanceof Error ? error.message : String(error);
      const body = new FieldWriter().u32(pkcs11Code(error) ?? 0xffffffff).bytes(Buffer.from(text));
      return { status: statuses.fault, body: body.finish() };
    }
  }

  #run({ code, body }: Frame): Answer {
    switch (code) {
      case operations.sign:
        return this.#sign(body);
      case operations.verifyProof: {
        const { id, proof } = readVerifyProof(body);
        return { status: this.#verify(id, proof) ? statuses.ok : statuses.wrongSecret, body: nothing };
      }
      case operations.makeMac: {
        const { id, kind, salt, secret } = readMakeMac(body);
        return ok(this.#mac(macInput(id, kind, salt, secret)));
      }
      case operations.createKey: {
        const { id, type } = readCreateKey(body);
        const { handle, publicKeyInfo } = createKeyPair(this.#session, { id }, type, this.#rules);
        this.#keys.added(id, handle);
        return ok(publicKeyInfo);
      }
      case operations.destroyKey: {
        const id = readOnlyId(body);
        this.#keys.removed(id);
        destroyKeys(this.#session, id, this.#rules.profile);
        return ok(nothing);
      }
      case operations.random:
        return ok(this.#random(body));
      case operations.listKeys:
        return ok(new FieldWriter().list([...this.#keys.all()].map((id) => Buffer.from(id, 'hex'))).finish());
      default:
        throw new WireError(`an unknown operation ${code}`);
    }
  }

  #sign(body: Buffer): Answer {
    const { id, algorithm, digests, proof } = readSign(body);
    if (keyOwner(id) === 'caller') {
      if (proof === undefined) return { status: statuses.forbidden, body: Buffer.from("a caller's key signs only with a proof") };
      if (!this.#verify(id, proof)) return { status: statuses.wrongSecret, body: nothing };
    }
    const values = digests.map((digest) => {
      const { mechanism, input } = signing(algorithm, digest);
      return this.#withKey(id, (handle) => {
        this.#session.module.C_SignInit(this.#session.handle, typeof mechanism === 'number' ? { mechanism } : mechanism, handle);
        return this.#session.module.C_Sign(this.#session.handle, input, Buffer.allocUnsafe(maxSignatureBytes));
      });
    });
    return ok(new FieldWriter().list(values).finish());
  }

  /** Uses the kept handle; a stale one is looked for once more. */
  #withKey<T>(id: KeyId, use: (handle: Handle) => T): T {
    const kept = this.#keys.get(id) ?? this.#search(id);
    try {
      return use(kept);
    } catch (error) {
      if (!staleHandle.has(pkcs11Code(error) ?? -1)) throw error;
      return use(this.#search(id));
    }
  }

  #search(id: KeyId): Handle {
    const [handle] = findById(this.#session, id, pkcs11js.CKO_PRIVATE_KEY);
    if (handle === undefined) throw new Error(`CKR_KEY_HANDLE_INVALID:96 no private key ${id} on the token`);
    this.#keys.added(id, handle);
    return handle;
  }

  #verify(id: KeyId, proof: Proof): boolean {
    const { module, handle } = this.#session;
    module.C_VerifyInit(handle, { mechanism: pkcs11js.CKM_SHA256_HMAC }, this.#macKey);
    try {
      return module.C_Verify(handle, macInput(id, proof.kind, proof.salt, proof.secret), Buffer.from(proof.mac));
    } catch (error) {
      const code = pkcs11Code(error);
      if (code === signatureInvalid || code === signatureLengthRange) return false;
      throw error;
    }
  }

  #mac(input: Buffer): Buffer {
    const { module, handle } = this.#session;
    module.C_SignInit(handle, { mechanism: pkcs11js.CKM_SHA256_HMAC }, this.#macKey);
    return module.C_Sign(handle, input, Buffer.alloc(32));
  }

  #random(body: Buffer): Buffer {
    const reader = new FieldReader(body);
    const length = reader.u32();
    reader.end();
    if (length === 0 || length > maxRandomBytes) throw new WireError(`${length} random bytes`);
    return this.#session.module.C_GenerateRandom(this.#session.handle, Buffer.alloc(length));
  }
}

function readOnlyId(body: Buffer): KeyId {
  const reader = new FieldReader(body);
  const id = keyIdOf(reader.bytes());
  reader.end();
  return id;
}

function ok(body: Uint8Array): Answer {
  return { status: statuses.ok, body };
}
