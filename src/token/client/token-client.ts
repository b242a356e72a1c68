import { setTimeout as delay } from 'node:timers/promises';
import type { TokenConfig } from '../../config/token-config.ts';
import { z } from 'zod';
import type { KeyType } from '../../config/profile.ts';
import type { AccountHead } from '../account-files.ts';
import { keyIdBytes, keyIdOf, type KeyId } from '../key-id.ts';
import type { MessageToken } from '../service-keys.ts';
import type { SignatureAlgorithm } from '../signature-algorithm.ts';
import {
  TokenCannot,
  KeyGone,
  KeyHeldBack,
  TokenUnavailable,
  type ClaimOutcome,
  type HostRefusedError,
  type MadeMac,
  type ProofOutcome,
  type Proofs,
  type SecretKind,
  type SignOutcome,
  type Token,
  type TokenKey,
  type TokenMacKey,
} from '../token.ts';
import { mechanismIsRefused } from '../pkcs11-faults.ts';
import { FieldReader, FieldWriter } from '../wire/fields.ts';
import { maxLongRequestBytes, maxRequestBytes, operations, statuses, type Answer, type OperationName } from '../wire/frames.ts';
import {
  keysInAnswerMax,
  readClaimOutcome,
  readMadeMac,
  type AssignablePurpose,
  writeAssignPurpose,
  writeClaimKey,
  writeCreateKey,
  writeListKeys,
  writeMakeMac,
  writeVerifyProof,
} from '../wire/messages.ts';
import type { ProbeReport } from '../wire/probe-report.ts';
import { writeServiceSign, writeSign } from '../wire/sign-message.ts';
import { Dispatcher, type Observe } from './dispatcher.ts';
import type { HostLink } from './host-link.ts';
import { HostSupervisor, type SupervisorEvents } from './host-supervisor.ts';
import { macKeyFault, macKeyRequests } from './mac-key-requests.ts';
import { messageRequests } from './message-requests.ts';
import type { TokenClientLog } from './repeated-messages.ts';

const AccountHeads = z.array(z.strictObject({ chain: z.int(), n: z.int(), hash: z.string() }));
/** Not sent again: the first of two could have made a key already. */
const creations: ReadonlySet<OperationName> = new Set(['createKey', 'createMessageKey']);
const marginMs = 2000;
const connectPollMs = 10;
/** A start is more than one call: the process, the module, the login, the walk over the keys. */
const startTimeoutMs = 30_000;

/** The daemon's side of the token host: the port `Token` over the host's socket. */
export class TokenClient implements Token {
  readonly #config: TokenConfig;
  readonly #dispatcher: Dispatcher;
  readonly #supervisor: HostSupervisor;
  #nextId = 1;
  #stopped = false;
  #supervised = false;
  /** Why no further host is started. */
  #refusal: HostRefusedError | undefined;
  #probe: ProbeReport | undefined;
  #expectedMacKey: Uint8Array | undefined;

  /** Service keys that sign messages whole. */
  readonly messages: MessageToken = messageRequests(async (operation, body) => ok(await this.#request(operation, body)));

  /** The key that secrets are checked with. */
  readonly macKey: TokenMacKey = macKeyRequests(async (operation, body) => this.#request(operation, body), ok);

  /** @param servesOperator has the host that it starts serve a command of an operator */
  constructor(
    config: TokenConfig,
    configPath: string,
    log: TokenClientLog,
    observe: Observe = () => undefined,
    { servesOperator = false }: { readonly servesOperator?: boolean } = {},
  ) {
    this.#config = config;
    const limits = {
      queueMaxRequests: config.queueMaxRequests,
      deadlineMs: config.callTimeoutSeconds * 1000,
      outageMs: config.outageSeconds * 1000,
    };
    const dispatcher = new Dispatcher(limits, observe);
    this.#dispatcher = dispatcher;
    const events: SupervisorEvents = {
      judge: async (link) => this.#judge(link),
      connected: (link) => {
        this.#probe = link.probe;
        dispatcher.connect(link);
      },
      lost(unanswered) {
        dispatcher.disconnect(unanswered);
      },
      answered(link, request, answer) {
        dispatcher.answered(link, request, answer);
      },
      draining(link, reason) {
        log.info(`the token host ends: ${reason}`);
        dispatcher.drain(link);
      },
      refused: (refusal) => {
        this.#refusal = refusal;
        dispatcher.failAll(refusal);
      },
    };
    this.#supervisor = new HostSupervisor({ ...config, servesOperator }, configPath, events, log);
  }

  /** Starts the host (or waits for it) and returns once it serves. @throws {TokenUnavailable} after 30 s, or at once where the host says that no start will do. */
  async start(): Promise<void> {
    this.#supervised = true;
    void this.#supervise();
    const deadlineMs = performance.now() + startTimeoutMs;
    while (!this.#dispatcher.connected) {
      if (this.#refusal !== undefined) throw this.#refusal;
      if (performance.now() > deadlineMs) throw new TokenUnavailable(`the token cannot be used: ${this.#supervisor.lastReason}`);
      await delay(connectPollMs);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#dispatcher.close();
    await this.#supervisor.stop();
  }

  /** @throws {Error} where nobody looks after the host any more, and not because another start would do no good */
  checkSupervised(): void {
    if (!this.#supervised && this.#refusal === undefined && !this.#stopped) throw new Error('nobody connects to the token host any more');
  }

  /** From now on no host is given a request before it has shown that it has the key for secrets that is known by this. */
  expectMacKey(check: Uint8Array): void {
    this.#expectedMacKey = check;
  }

  /** Why the host that is there is not given any requests; undefined where it is, or where none is there. */
  get hostFault(): string | undefined {
    return this.#supervisor.hostFault;
  }

  /** What the token can do, as its last host found out at its start. */
  get probe(): ProbeReport | undefined {
    return this.#probe;
  }

  get ready(): boolean {
    return this.#dispatcher.connected;
  }

  /** Requests that wait for the token. */
  get waiting(): number {
    return this.#dispatcher.waiting;
  }

  /** Seconds after which another try is worth while; undefined where the token serves what comes now in time. */
  get busySeconds(): number | undefined {
    return this.#dispatcher.busySeconds;
  }

  /** Process id of the host, where this client started it. */
  get hostPid(): number | undefined {
    return this.#supervisor.hostPid;
  }

  async createKey(id: KeyId, type: KeyType): Promise<Uint8Array> {
    return ok(await this.#request('createKey', writeCreateKey(id, type)));
  }

  async destroyKey(id: KeyId): Promise<void> {
    ok(await this.#request('destroyKey', new FieldWriter().bytes(keyIdBytes(id)).finish()));
  }

  async signAsService(id: KeyId, algorithm: SignatureAlgorithm, message: Uint8Array): Promise<Uint8Array> {
    return ok(await this.#request('signAsService', writeServiceSign(id, algorithm, message)));
  }

  /**
   * Gives a key from before keys had purposes one, and answers its new CKA_ID. A host that serves an operator's command does that, and no other.
   */
  async assignPurpose(id: KeyId, purpose: AssignablePurpose): Promise<KeyId> {
    return keyIdOf(ok(await this.#request('assignPurpose', writeAssignPurpose(id, purpose))));
  }

  async signDigests(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
    return values(ok(await this.#request('sign', writeSign(id, algorithm, digests))));
  }

  async signWithProof(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[], proofs: Proofs): Promise<SignOutcome> {
    const answer = await this.#request('sign', writeSign(id, algorithm, digests, proofs));
    if (answer.status === statuses.wrongSecret) return { verified: false };
    const body = ok(answer);
    return { verified: true, by: body.readUInt8(0), values: values(body.subarray(1)) };
  }

  async verifyProof(id: KeyId, proofs: Proofs): Promise<ProofOutcome> {
    const answer = await this.#request('verifyProof', writeVerifyProof(id, proofs));
    return answer.status === statuses.wrongSecret ? { verified: false } : { verified: true, by: ok(answer).readUInt8(0) };
  }

  async makeMac(id: KeyId, kind: SecretKind, secret: Uint8Array, scope: Uint8Array): Promise<MadeMac> {
    return readMadeMac(ok(await this.#request('makeMac', writeMakeMac(id, kind, secret, scope))));
  }

  async claimKey(id: KeyId, claim: string): Promise<ClaimOutcome> {
    return readClaimOutcome(ok(await this.#request('claimKey', writeClaimKey(id, claim))));
  }

  /** Where the host's account of uses ends, all of it on the disk. */
  async accountHeads(): Promise<readonly AccountHead[]> {
    return AccountHeads.parse(JSON.parse(ok(await this.#request('accountHeads', new Uint8Array())).toString('utf8')));
  }

  async random(bytes: number): Promise<Uint8Array> {
    return ok(await this.#request('random', new FieldWriter().u32(bytes).finish()));
  }

  /** @param pageKeys how many the host is asked for at a time */
  async listKeys(pageKeys = keysInAnswerMax): Promise<readonly TokenKey[]> {
    const keys: TokenKey[] = [];
    for (;;) {
      const page = values(ok(await this.#request('listKeys', writeListKeys({ after: keys.at(-1)?.id, limit: pageKeys }))));
      keys.push(...page.map((id) => ({ id: keyIdOf(id) })));
      if (page.length < pageKeys) return keys;
    }
  }

  async #supervise(): Promise<void> {
    try {
      await this.#supervisor.run();
    } finally {
      this.#supervised = false;
    }
  }

  /** A token that was swapped, or a copy of it that is behind, would answer every right secret with no. */
  async #judge(link: HostLink): Promise<string | undefined> {
    if (this.#expectedMacKey === undefined) return undefined;
    const answer = await link.askFirst('checkMacKey', this.#config.callTimeoutSeconds * 1000 + marginMs);
    return answer === undefined ? 'the token host does not answer' : macKeyFault(answer, this.#expectedMacKey, ok);
  }

  async #request(operation: OperationName, body: Uint8Array): Promise<Answer> {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#stopped) throw new TokenUnavailable('the service stops');
    // The host would end the connection, and other requests with it.
    const maxBytes = operation === 'signAsService' ? maxLongRequestBytes : maxRequestBytes;
    if (body.length > maxBytes) throw new RangeError(`a request to the token of ${body.length} bytes, more than ${maxBytes}`);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const id = this.#nextId;
    this.#nextId = (id % 0xffffffff) + 1;
    const now = performance.now();
    this.#dispatcher.add({
      id,
      operation,
      code: operations[operation],
      body,
      queuedAtMs: now,
      // The host ends itself at the same time-out; the margin lets a repeated request still come through.
      deadlineMs: now + this.#config.callTimeoutSeconds * 1000 + marginMs,
      repeatable: !creations.has(operation),
      repeated: false,
      slow: operation === 'createKey',
      settle: resolve,
      fail: reject,
    });
    return promise;
  }
}

/** How an answer's status counts. */
export function outcomeOf(status: number): 'ok' | 'refused' | 'fault' {
  return status === statuses.ok ? 'ok' : status === statuses.fault ? 'fault' : 'refused';
}

function ok({ status, body }: Answer): Buffer {
  if (status === statuses.ok) return body;
  if (status === statuses.fault) {
    const reader = new FieldReader(body);
    const code = reader.u32();
    const message = `PKCS#11 0x${code.toString(16)}: ${reader.bytes().toString('utf8')}`;
    throw mechanismIsRefused(code) ? new TokenCannot(message) : new TokenUnavailable(message);
  }
  const text = body.toString('utf8');
  if (status === statuses.heldBack) throw new KeyHeldBack(new Date(Number(text)));
  if (status === statuses.noSuchKey) throw new KeyGone(text);
  if (status === statuses.noMacKey) throw new TokenUnavailable(text);
  throw new Error(`the token host refuses a request: ${text}`);
}

function values(body: Buffer): readonly Buffer[] {
  const reader = new FieldReader(body);
  const list = reader.list();
  reader.end();
  return list;
}
