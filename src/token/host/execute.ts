import { hash } from 'node:crypto';
import type { Handle } from 'pkcs11js';
import type { AccountHead } from '../account-files.ts';
import { isIdentityKey, keyIdBytes, keyOwner, keyPurpose, macKeyIdOf, type KeyId } from '../key-id.ts';
import type { ClaimOutcome, Proofs } from '../token.ts';
import { FieldReader, WireError, writeList } from '../wire/fields.ts';
import { operations, type Frame } from '../wire/frames.ts';
import type { SignatureAlgorithm } from '../signature-algorithm.ts';
import { readCreateMessageKey, readSignMessage } from '../wire/provider-messages.ts';
import {
  readClaimKey,
  readCreateKey,
  readDestroyMacKey,
  readFindKeys,
  readGeneration,
  readKeyId,
  readListKeys,
  readMakeMac,
  readVerifyProof,
  writeClaimOutcome,
} from '../wire/messages.ts';
import { createUse, destroyUse, messageUse } from '../uses.ts';
import { readIdentitySign, readServiceSign, readSign } from '../wire/sign-message.ts';
import { forbidden, notYet, nothing, ok, wrongSecret, type Answer } from './answer.ts';
import { GuardedRequests } from './guarded-requests.ts';
import { HostHealth, type TrialOutcome } from './host-health.ts';
import { claimKey, createKeyPair, destroyIfStillThere, destroyKeys } from './key-objects.ts';
import { rsaBitsOf } from './key-templates.ts';
import type { KeyDirectory } from './key-directory.ts';
import { NoSuchKey } from './find-objects.ts';
import { MacKeys } from './mac-keys.ts';
import type { MadeAuditKeys } from './made-audit-keys.ts';
import type { Probed } from './probe.ts';
import { ProviderKeys } from './provider-keys.ts';
import { assignPurpose } from './purposes/assign-purpose.ts';
import { identityFault } from './purposes/data-zone.ts';
import { purposeFault, type ServedBy } from './purposes/purposes.ts';
import { answerReport } from './reports.ts';
import { ProvenSignatures } from './proven-signatures.ts';
import { SecretChecks, type SecretMemory } from './secret-checks.ts';
import { SigningKeys } from './signing-keys.ts';
import type { Session } from './session.ts';

const maxRandomBytes = 1024;

/** State that the host itself keeps. */
export interface HostMemory extends SecretMemory {
  /** Returns the last line of each chain of the account, synced to disk. */
  accountHeads(): readonly AccountHead[];
  readonly auditKeys: MadeAuditKeys;
}

/**
 * Executes requests in one session. Its rules: a caller's key signs only after the token has
 * verified a proof for that very key, and that of a digital identity only data zones; a service key
 * signs only what its purpose allows.
 */
export class Executor {
  readonly #openSession: () => Session;
  readonly #keys: KeyDirectory;
  readonly #providerKeys: ProviderKeys;
  readonly #probed: Probed;
  readonly #memory: HostMemory;
  readonly #servedBy: ServedBy;
  #session: Session;
  readonly #macKeys: MacKeys;
  readonly #secrets: SecretChecks;
  readonly #signing: SigningKeys;
  readonly #proven: ProvenSignatures;
  readonly #guarded: GuardedRequests;

  /**
   * @param openSession opens the session of this thread, and again when one is no longer usable
   * @param macKey, probed, servedBy as found at the host's start
   * @param pauseMs how long this host serves before it may be replaced for a fault of unknown kind
   */
  constructor(
    openSession: () => Session,
    keys: KeyDirectory,
    macKey: Handle | undefined,
    probed: Probed,
    { memory, servedBy, pauseMs = 0 }: { readonly memory: HostMemory; readonly servedBy: ServedBy; readonly pauseMs?: number },
  ) {
    this.#memory = memory;
    this.#servedBy = servedBy;
    this.#openSession = openSession;
    this.#session = openSession();
    this.#keys = keys;
    this.#macKeys = new MacKeys(() => this.#session, probed.rules.profile, macKey);
    this.#secrets = new SecretChecks(() => this.#session, this.#macKeys, probed.rules.profile.macKey.comparedBy, memory);
    this.#signing = new SigningKeys(() => this.#session, keys, memory);
    this.#proven = new ProvenSignatures(() => this.#session, keys, this.#macKeys, this.#secrets, this.#signing);
    this.#probed = probed;
    const health = new HostHealth(
      () => {
        this.#renewSession();
      },
      () => this.#tryIt(),
    );
    this.#guarded = new GuardedRequests((frame) => this.#run(frame), health, pauseMs);
    this.#providerKeys = new ProviderKeys(() => this.#session, keys, probed.rules.profile);
  }

  /** The session of this thread, which changes after some faults. */
  get session(): Session {
    return this.#session;
  }

  execute(frame: Frame): Answer {
    return this.#guarded.execute(frame);
  }

  /** Destroys a key that this thread has made after another one was asked to destroy it. */
  destroyLate(id: KeyId, key: Handle): void {
    destroyIfStillThere(this.#session, id, key);
  }

  /** Has the token do what requests need. @throws what the token answers */
  #tryIt(): TrialOutcome {
    const hasMac = this.#macKeys.tryNewest();
    const hasSignature = this.#signing.tryLastOfService();
    return hasMac && hasSignature ? 'whole' : 'part';
  }

  #renewSession(): void {
    const { module, handle } = this.#session;
    try {
      // Closed before the new one is opened, since a token may have no spare session.
      module.C_CloseSession(handle);
    } catch {
      // It may be lost already.
    }
    this.#session = this.#openSession();
  }

  #run({ code, body }: Frame): Answer {
    switch (code) {
      case operations.sign:
        return this.#sign(body);
      case operations.signAsService:
        return this.#signAsService(body);
      case operations.signAsIdentity:
        return this.#signAsIdentity(body);
      case operations.assignPurpose:
        return this.#servedBy === 'operator'
          ? ok(assignPurpose(this.#session, this.#keys, body))
          : forbidden("only an operator's command assigns a purpose to a key");
      case operations.verifyProof: {
        const { id, proofs } = readVerifyProof(body);
        const by = this.#secrets.verify(id, proofs);
        return by === undefined ? wrongSecret : ok(Buffer.of(by));
      }
      case operations.makeMac: {
        const { id, kind, secret, scope, generation } = readMakeMac(body);
        const { salt, mac } = this.#secrets.make(id, kind, secret, scope, generation);
        return ok(Buffer.concat([salt, mac]));
      }
      case operations.checkMacKey:
        return ok(this.#macKeys.at(readGeneration(body)).check());
      case operations.makeMacKey:
        return ok(this.#macKeys.at(readGeneration(body)).make());
      case operations.destroyMacKey:
        return this.#destroyMacKey(readDestroyMacKey(body));
      case operations.createKey: {
        const { id, type } = readCreateKey(body);
        if (this.#keys.isRemoved(id)) return forbidden('the key was removed before it was created');
        if (!mayBeMade(id)) return forbidden("a key pair must be a caller's, or have a signing purpose");
        if (isIdentityKey(id) && (this.#servedBy !== 'operator' || rsaBitsOf(type) !== undefined))
          return forbidden("only an operator's command makes the key of a digital identity, on an elliptic curve");
        const { handle, publicKeyInfo } = createKeyPair(this.#session, { id }, type, this.#probed.rules);
        this.#keys.made(id, handle);
        if (keyPurpose(id) === 'audit') this.#memory.auditKeys.made(publicKeyInfo);
        this.#memory.use(createUse(id, type));
        return ok(publicKeyInfo);
      }
      case operations.destroyKey: {
        const id = readKeyId(body);
        const kept = this.#keys.get(id);
        this.#keys.remove(id);
        destroyKeys(this.#session, id, this.#probed.rules.profile, kept);
        this.#keys.tellRemoved(id);
        this.#memory.use(destroyUse(id));
        return ok(nothing);
      }
      case operations.claimKey:
        return ok(writeClaimOutcome(this.#claim(readClaimKey(body))));
      case operations.accountHeads:
        return ok(Buffer.from(JSON.stringify(this.#memory.accountHeads())));
      case operations.random:
        return ok(this.#random(body));
      case operations.listKeys:
        return this.#keys.isListed ? ok(writeList(this.#keys.page(readListKeys(body)).map(keyIdBytes))) : notYet;
      case operations.findKeys:
        return ok(
          writeList(
            readFindKeys(body)
              .filter((id) => this.#signing.isThere(id))
              .map(keyIdBytes),
          ),
        );
      default: {
        const answer = this.#messageKeys(code, body) ?? answerReport(code, body, this.#session, this.#probed);
        if (answer === undefined) throw new WireError(`unknown operation ${code}`);
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

  /** @throws {MacKeyMissing} if the one in force is not on the token */
  #destroyMacKey({ generation, current }: { readonly generation: number; readonly current: number }): Answer {
    this.#macKeys.at(current).check();
    this.#macKeys.at(generation).destroy();
    this.#memory.use(destroyUse(macKeyIdOf(generation)));
    return ok(nothing);
  }

  #sign(body: Buffer): Answer {
    const proven = this.#proven.answer(body);
    if (proven !== undefined) return proven === 'wrongSecret' ? wrongSecret : ok(proven);
    const { id, algorithm, digests, proofs } = readSign(body);
    if (isIdentityKey(id)) return forbidden(`the key ${id} of a digital identity signs no digests, only data zones`);
    if (proofs === undefined) {
      if (keyOwner(id) === 'caller') return forbidden("a caller's key signs only with a proof");
      if (keyPurpose(id) !== 'general') return forbidden(`the key ${id} signs no digests, only messages that fit its purpose`);
      const values = this.#signing.values(id, algorithm, digests);
      this.#signing.lastOfService = { id, algorithm };
      return ok(writeList(values));
    }
    // Anyone can have MACs made for a service key, so a proof for it would prove nothing.
    if (keyOwner(id) !== 'caller') return forbidden('a service key has no secret');
    return this.#signWithProof(id, algorithm, digests, proofs);
  }

  #signAsIdentity(body: Buffer): Answer {
    const { id, algorithm, messages, proofs } = readIdentitySign(body);
    if (!isIdentityKey(id)) return forbidden(`the key ${id} is not that of a digital identity`);
    if (algorithm.scheme !== 'ECDSA' || algorithm.hash === 'sha1') return forbidden('data zones are signed with ECDSA and a hash of SHA-2');
    for (const message of messages) {
      const fault = identityFault(message, this.#servedBy);
      if (fault !== undefined) return forbidden(fault);
    }
    const digests = messages.map((message) => hash(algorithm.hash, message, 'buffer'));
    return this.#signWithProof(id, algorithm, digests, proofs);
  }

  #signWithProof(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Buffer[], proofs: Proofs): Answer {
    const by = this.#secrets.verify(id, proofs);
    if (by === undefined) return wrongSecret;
    const values = proofs.anyOf[by]?.signs === true ? this.#signing.values(id, algorithm, digests) : [];
    return ok(writeList(values, [by]));
  }

  #signAsService(body: Buffer): Answer {
    const { id, algorithm, message } = readServiceSign(body);
    const fault = purposeFault(id, algorithm, message, { servedBy: this.#servedBy, auditKeys: this.#memory.auditKeys });
    if (fault !== undefined) return forbidden(fault);
    const [value = nothing] = this.#signing.values(id, algorithm, [hash(algorithm.hash, message, 'buffer')]);
    this.#signing.lastOfService = { id, algorithm };
    return ok(value);
  }

  #claim({ id, claim }: ReturnType<typeof readClaimKey>): ClaimOutcome {
    try {
      return this.#signing.withKey(id, (handle) => claimKey(this.#session, handle, claim));
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

/**
 * Checks whether `createKey` may create this key: HMAC keys are not key pairs, and a key without a
 * purpose could not sign anything.
 */
function mayBeMade(id: KeyId): boolean {
  const purpose = keyPurpose(id);
  return keyOwner(id) === 'caller' || (purpose !== undefined && purpose !== 'mac');
}
