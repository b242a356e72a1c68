import { hash, randomBytes } from 'node:crypto';
import type { Handle } from 'pkcs11js';
import type { AccountHead } from '../account-files.ts';
import { keyIdBytes, keyIdOf, keyOwner, keyPurpose, type KeyId } from '../key-id.ts';
import type { ClaimOutcome, Proof, Proofs } from '../token.ts';
import { ckr, handleIsStale } from '../pkcs11-faults.ts';
import { FieldReader, FieldWriter, WireError, writeList } from '../wire/fields.ts';
import { operations, statuses, type Frame } from '../wire/frames.ts';
import type { SignatureAlgorithm } from '../signature-algorithm.ts';
import { readCreateMessageKey, readSignMessage } from '../wire/provider-messages.ts';
import { macInput, readClaimKey, readCreateKey, readListKeys, readMakeMac, readVerifyProof, writeClaimOutcome } from '../wire/messages.ts';
import { createUse, destroyUse, macUse, messageUse, signUse, wrongUse } from '../uses.ts';
import { readServiceSign, readSign } from '../wire/sign-message.ts';
import { claimKey } from './claim-key.ts';
import type { KeyDirectory } from './key-directory.ts';
import { findById } from './find-objects.ts';
import { createKeyPair, destroyKeys } from './key-objects.ts';
import { MacKey, MacKeyMissing } from './mac-key.ts';
import { signing } from './mechanisms.ts';
import type { Probed } from './probe.ts';
import { NoSuchKey } from './no-such-key.ts';
import { ProviderKeys } from './provider-keys.ts';
import { assignPurpose } from './purposes/assign-purpose.ts';
import { purposeFault, type ServedBy } from './purposes/purposes.ts';
import { answerReport } from './reports.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';
import { answeredCandidate, KeyHeldBack, toldWrong, type WrongSecrets } from './wrong-secrets.ts';

export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

const maxSignatureBytes = 1024;
const maxRandomBytes = 1024;
const nothing = Buffer.alloc(0);
const wrongSecret: Answer = { status: statuses.wrongSecret, body: nothing };
const saltBytes = 16;
const hmac = { mechanism: pkcs11js.CKM_SHA256_HMAC };

/** What the host itself remembers. */
export interface HostMemory {
  /** Takes in each use of a key, once it was made. */
  use(use: string): void;
  readonly wrongSecrets: Pick<WrongSecrets, 'check' | 'count'>;
  /** Where the account ends, on the disk. */
  accountHeads(): readonly AccountHead[];
}

/**
 * Carries out requests on one session. Its rules: a caller's key signs only after the token has verified a proof for that very key; a key of the service
 * signs only what its purpose has.
 */
export class Executor {
  readonly #openSession: () => Session;
  readonly #keys: KeyDirectory;
  readonly #providerKeys: ProviderKeys;
  readonly #probed: Probed;
  readonly #memory: HostMemory;
  readonly #servedBy: ServedBy;
  #session: Session;
  readonly #macKey: MacKey;
  /** What a C_Sign writes into; it copies the value out. */
  readonly #value = Buffer.alloc(maxSignatureBytes);

  /** @param openSession opens the session of this thread, and again where one cannot be used any more; @param macKey, probed, servedBy of the host's start */
  constructor(
    openSession: () => Session,
    keys: KeyDirectory,
    macKey: Handle | undefined,
    probed: Probed,
    { memory, servedBy }: { readonly memory: HostMemory; readonly servedBy: ServedBy },
  ) {
    this.#memory = memory;
    this.#servedBy = servedBy;
    this.#openSession = openSession;
    this.#session = openSession();
    this.#keys = keys;
    this.#macKey = new MacKey(() => this.#session, probed.rules.profile, macKey);
    this.#probed = probed;
    this.#providerKeys = new ProviderKeys(() => this.#session, keys, probed.rules.profile);
  }

  execute(frame: Frame): Answer {
    try {
      return this.#run(frame);
    } catch (error) {
      // An operation that was begun and never ended holds the session: a new one is free of it, and nothing has been done yet.
      if (pkcs11Code(error) !== ckr.OPERATION_ACTIVE || frame.code === operations.createKey) return this.#failed(error);
    }
    try {
      this.#renewSession();
      return this.#run(frame);
    } catch (error) {
      return this.#failed(error);
    }
  }

  #renewSession(): void {
    // In this order, since a token may have no session to spare.
    this.#session.module.C_CloseSession(this.#session.handle);
    this.#session = this.#openSession();
  }

  #failed(error: unknown): Answer {
    if (error instanceof WireError || error instanceof RangeError) {
      return { status: statuses.malformed, body: Buffer.from(error.message) };
    }
    const text = error instanceof Error ? error.message : String(error);
    if (error instanceof KeyHeldBack) return { status: statuses.heldBack, body: Buffer.from(String(error.until)) };
    if (error instanceof NoSuchKey) return { status: statuses.noSuchKey, body: Buffer.from(text) };
    if (error instanceof MacKeyMissing) return { status: statuses.noMacKey, body: Buffer.from(text) };
    const body = new FieldWriter().u32(pkcs11Code(error) ?? 0xffffffff).bytes(Buffer.from(text));
    return { status: statuses.fault, body: body.finish() };
  }

  #run({ code, body }: Frame): Answer {
    switch (code) {
      case operations.sign:
        return this.#sign(body);
      case operations.signAsService:
        return this.#signAsService(body);
      case operations.assignPurpose:
        return this.#servedBy === 'operator'
          ? ok(assignPurpose(this.#session, this.#keys, body))
          : forbidden("a key gets a purpose by an operator's command alone");
      case operations.verifyProof: {
        const { id, proofs } = readVerifyProof(body);
        const by = this.#rightOne(id, proofs);
        return by === undefined ? wrongSecret : ok(Buffer.of(by));
      }
      case operations.makeMac: {
        const { id, kind, secret, scope } = readMakeMac(body);
        // Nobody else chooses it: who could have the MAC of a guess made with the salt of a secret would know whether the guess is right.
        const salt = randomBytes(saltBytes);
        const mac = this.#mac(macInput(id, kind, salt, secret, scope));
        this.#memory.use(macUse(id, kind, salt));
        return ok(Buffer.concat([salt, mac]));
      }
      case operations.checkMacKey:
        return ok(this.#macKey.check());
      case operations.makeMacKey:
        return ok(this.#macKey.make());
      case operations.createKey: {
        const { id, type } = readCreateKey(body);
        if (this.#keys.isRemoved(id)) return forbidden('the key was removed before it was made');
        if (!mayBeMade(id)) return forbidden("a key pair is a caller's, or has a purpose by which it signs");
        const { handle, publicKeyInfo } = createKeyPair(this.#session, { id }, type, this.#probed.rules);
        this.#keys.made(id, handle);
        this.#memory.use(createUse(id, type));
        return ok(publicKeyInfo);
      }
      case operations.destroyKey: {
        const id = readOnlyId(body);
        const kept = this.#keys.get(id);
        this.#keys.remove(id);
        destroyKeys(this.#session, id, this.#probed.rules.profile, kept);
        this.#keys.tellRemoved(id);
        this.#memory.use(destroyUse(id));
        return ok(nothing);
      }
      case operations.claimKey: {
        const { id, claim } = readClaimKey(body);
        return ok(writeClaimOutcome(this.#claim(id, claim)));
      }
      case operations.accountHeads:
        return ok(Buffer.from(JSON.stringify(this.#memory.accountHeads())));
      case operations.random:
        return ok(this.#random(body));
      case operations.listKeys: {
        const { after = '', limit } = readListKeys(body);
        const page = [...this.#keys.all()]
          .filter((id) => id > after)
          .toSorted()
          .slice(0, limit);
        return ok(writeList(page.map(keyIdBytes)));
      }
      default: {
        const answer = this.#messageKeys(code, body) ?? answerReport(code, body, this.#session, this.#probed);
        if (answer === undefined) throw new WireError(`an unknown operation ${code}`);
        return ok(answer);
      }
    }
  }

  #messageKeys(code: number, body: Buffer): Buffer | undefined {
    const answer = this.#providerKeys.run(code, body);
    if (code === operations.createMessageKey) {
      const { id, type } = readCreateMessageKey(body);
      this.#memory.use(createUse(id, type.scheme));
    } else if (code === operations.signMessage) {
      const { id, algorithm, message } = readSignMessage(body);
      this.#memory.use(messageUse(id, algorithm, hash('sha256', message, 'buffer')));
    }
    return answer;
  }

  #sign(body: Buffer): Answer {
    const { id, algorithm, digests, proofs } = readSign(body);
    if (proofs === undefined) {
      if (keyOwner(id) === 'caller') return forbidden("a caller's key signs only with a proof");
      if (keyPurpose(id) !== 'general') return forbidden(`the key ${id} signs no digests: only messages, which its purpose has`);
      return ok(writeList(this.#values(id, algorithm, digests)));
    }
    // A MAC for a key of the service is made by whoever asks for it.
    if (keyOwner(id) !== 'caller') return forbidden('a key of the service has no secret');
    const by = this.#rightOne(id, proofs);
    if (by === undefined) return wrongSecret;
    const values = proofs.anyOf[by]?.signs === true ? this.#values(id, algorithm, digests) : [];
    return ok(writeList(values, [by]));
  }

  #signAsService(body: Buffer): Answer {
    const { id, algorithm, message } = readServiceSign(body);
    const fault = purposeFault(id, algorithm, message, this.#servedBy);
    if (fault !== undefined) return forbidden(fault);
    const [value = nothing] = this.#values(id, algorithm, [hash(algorithm.hash, message, 'buffer')]);
    return ok(value);
  }

  #values(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Buffer[]): Buffer[] {
    return digests.map((digest) => {
      const { mechanism, input } = signing(algorithm, digest);
      return this.#withKey(id, (handle) => {
        this.#session.module.C_SignInit(this.#session.handle, mechanism, handle);
        const value = Buffer.from(this.#session.module.C_Sign(this.#session.handle, input, this.#value));
        this.#memory.use(signUse(id, algorithm, digest));
        return value;
      });
    });
  }

  /** Uses the kept handle; a stale one is looked for once more. */
  #withKey<T>(id: KeyId, use: (handle: Handle) => T): T {
    const kept = this.#keys.get(id) ?? this.#search(id);
    try {
      return use(kept);
    } catch (error) {
      if (!handleIsStale(pkcs11Code(error))) throw error;
      return use(this.#search(id));
    }
  }

  #search(id: KeyId): Handle {
    const [handle] = findById(this.#session, id, pkcs11js.CKO_PRIVATE_KEY);
    if (handle === undefined) throw new NoSuchKey(id);
    this.#keys.found(id, handle);
    return handle;
  }

  /**
   * The place of the candidate that is right, where what has to be right as well is so too. Nothing is left out, whatever fails; what was wrong is counted.
   * @throws {KeyHeldBack}
   */
  #rightOne(id: KeyId, { anyOf, also }: Proofs): number | undefined {
    const { wrongSecrets } = this.#memory;
    const tellsOfSecrets = [...anyOf, ...(also === undefined ? [] : [also])].some(({ kind }) => kind !== 'RECORD');
    if (tellsOfSecrets) wrongSecrets.check(id);
    const verdicts = anyOf.map((candidate) => this.#verify(id, candidate));
    const isAlsoRight = also === undefined || this.#verify(id, also);
    const by = isAlsoRight ? answeredCandidate(anyOf, verdicts) : undefined;
    // A seal is a MAC over what anybody may know: nothing can be guessed by it, and what needs no secret is not held back (a revocation).
    const wrong = tellsOfSecrets ? toldWrong(anyOf, by) : 0;
    if (wrong > 0) {
      wrongSecrets.count(id, wrong);
      this.#memory.use(wrongUse(id, wrong));
    }
    return by;
  }

  #verify(id: KeyId, proof: Proof): boolean {
    const input = macInput(id, proof.kind, proof.salt, proof.secret, proof.scope);
    try {
      return this.#macKey.use((macKey) => {
        const { module, handle } = this.#session;
        module.C_VerifyInit(handle, hmac, macKey);
        return module.C_Verify(handle, input, Buffer.from(proof.mac));
      });
    } catch (error) {
      const code = pkcs11Code(error);
      if (code === ckr.SIGNATURE_INVALID || code === ckr.SIGNATURE_LEN_RANGE) return false;
      throw error;
    }
  }

  #mac(input: Buffer): Buffer {
    return this.#macKey.use((macKey) => {
      const { module, handle } = this.#session;
      module.C_SignInit(handle, hmac, macKey);
      return module.C_Sign(handle, input, Buffer.alloc(32));
    });
  }

  #claim(id: KeyId, claim: string): ClaimOutcome {
    try {
      return this.#withKey(id, (handle) => claimKey(this.#session, handle, claim));
    } catch (error) {
      if (error instanceof NoSuchKey) return 'gone';
      throw error;
    }
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

/** The keys that `createKey` makes: those for HMAC are none, and a key without purpose could sign nothing. */
function mayBeMade(id: KeyId): boolean {
  const purpose = keyPurpose(id);
  return keyOwner(id) === 'caller' || (purpose !== undefined && purpose !== 'mac');
}

function forbidden(reason: string): Answer {
  return { status: statuses.forbidden, body: Buffer.from(reason) };
}

function ok(body: Uint8Array): Answer {
  return { status: statuses.ok, body };
}
