import { setTimeout as delay } from 'node:timers/promises';
import type { TokenConfig } from '../../config/token-config.ts';
import type { KeyType } from '../../config/key-types.ts';
import type { Sender } from '../../telemetry/current-request.ts';
import type { AccountHead } from '../account-files.ts';
import { keyIdBytes, keyIdOf, type KeyId } from '../key-id.ts';
import { storedMac } from '../mac-generation.ts';
import type { MessageToken } from '../service-keys.ts';
import type { SignatureAlgorithm } from '../signature-algorithm.ts';
import {
  TokenFull,
  TokenUnavailable,
  type ClaimOutcome,
  HostRefusedError,
  type MadeMac,
  type ProofOutcome,
  type Proofs,
  type SecretKind,
  type SignOutcome,
  type Token,
  type TokenKey,
  type TokenMacKey,
} from '../token.ts';
import { FieldWriter } from '../wire/fields.ts';
import { statuses, type Answer, type OperationName } from '../wire/frames.ts';
import {
  readClaimOutcome,
  readMadeMac,
  type AssignablePurpose,
  writeAssignPurpose,
  writeClaimKey,
  writeCreateKey,
  writeMakeMac,
  writeVerifyProof,
} from '../wire/messages.ts';
import type { ProbeReport } from '../wire/probe-report.ts';
import { writeIdentitySign, writeServiceSign, writeSign } from '../wire/sign-message.ts';
import { accountHeadsIn, bodyOf, listIn, madeKeyIn } from './answers.ts';
import { Dispatcher, type Observe } from './dispatcher.ts';
import { allKeys, keysThere } from './key-questions.ts';
import { ExpectedMacKey } from './expected-mac-key.ts';
import type { HostSettings } from './host-process.ts';
import { HostSupervisor, type SupervisorEvents } from './host-supervisor.ts';
import { refusalExitCodes } from '../host/exit-codes.ts';
import { macKeyRequests, messageRequests } from './service-requests.ts';
import { SignatureMessages } from './signature-messages.ts';
import { TokenRequests, type Part } from './token-requests.ts';
import type { TokenClientLog } from './repeated-messages.ts';

/** The host ends itself at a call's own time-out; this leaves time for a repeated request. */
const marginMs = 2000;
const connectPollMs = 10;
/** A start takes longer than one call: process, module, login, listing of the keys. */
const startTimeoutMs = 30_000;
/** How long a host that is started elsewhere is waited for after another one could not start. */
const nextHostMs = 5000;

/** The daemon's side of the token host: the port `Token` over the host's socket. */
export class TokenClient implements Token {
  readonly #dispatcher: Dispatcher;
  readonly #supervisor: HostSupervisor;
  readonly #requests: TokenRequests;
  #stopped = false;
  #supervised = false;
  /** Why no further host is started. */
  #refusal: HostRefusedError | undefined;
  #probe: ProbeReport | undefined;
  #isFull = false;
  readonly #expectedMacKey: ExpectedMacKey;
  readonly #signatures = new SignatureMessages(() => this.#dispatcher.isShared);

  /** Service keys that sign whole messages. */
  readonly messages: MessageToken = messageRequests(async (operation, body) => this.#request(operation, body));

  /** The key that secrets are checked with. */
  readonly macKey: TokenMacKey = macKeyRequests(async (operation, body) => this.#request(operation, body));

  /**
   * @param servesOperator starts the host for an operator's command
   * @param ofOperator what such a host is told
   */
  constructor(
    config: TokenConfig,
    configPath: string,
    log: TokenClientLog,
    observe: Observe = () => undefined,
    { servesOperator = false, ...ofOperator }: Partial<Pick<HostSettings, 'servesOperator' | 'tokenOwner' | 'serviceAccount'>> = {},
  ) {
    const answerMs = config.callTimeoutSeconds * 1000 + marginMs;
    this.#requests = new TokenRequests(answerMs);
    this.#expectedMacKey = new ExpectedMacKey(answerMs);
    const limits = {
      queueMaxRequests: config.queueMaxRequests,
      deadlineMs: config.callTimeoutSeconds * 1000,
      outageMs: config.outageSeconds * 1000,
    };
    const dispatcher = new Dispatcher(limits, observe);
    this.#dispatcher = dispatcher;
    const events: SupervisorEvents = {
      judge: async (link) => this.#expectedMacKey.faultOf(link),
      connected: (link) => {
        this.#probe = link.probe;
        dispatcher.connect(link);
      },
      lost(unanswered) {
        dispatcher.disconnect(unanswered);
      },
      answered: dispatcher.answered.bind(dispatcher),
      draining(link, reason) {
        log.info(`the token host is shutting down: ${reason}`);
        dispatcher.drain(link);
      },
      refused: (refusal) => {
        this.#refusal = refusal;
        dispatcher.failAll(refusal);
      },
    };
    this.#supervisor = new HostSupervisor({ ...config, servesOperator, ...ofOperator }, configPath, events, log);
  }

  /**
   * Starts the host (or waits for it) and returns once it serves.
   * @throws {HostRefusedError} at once if the host refuses to start
   * @throws {TokenUnavailable} after 30 s, or 5 s after a host that is started elsewhere has failed
   */
  async start(): Promise<void> {
    this.#supervised = true;
    void this.#supervise();
    let deadlineMs = performance.now() + startTimeoutMs;
    while (!this.#dispatcher.connected) {
      if (this.#refusal !== undefined) throw this.#refusal;
      const elsewhere = this.#supervisor.startFailure;
      if (elsewhere !== undefined && refusalExitCodes.includes(elsewhere.exitCode)) {
        throw new HostRefusedError(elsewhere.message, elsewhere.exitCode);
      }
      // The service manager starts another soon, which may succeed.
      if (elsewhere !== undefined) deadlineMs = Math.min(deadlineMs, performance.now() + nextHostMs);
      if (performance.now() > deadlineMs) throw new TokenUnavailable(`the token cannot be used: ${this.#supervisor.lastReason}`);
      await delay(connectPollMs);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#dispatcher.close();
    await this.#supervisor.stop();
  }

  /**
   * @throws {Error} if the supervisor has ended although it was not stopped and no host refused to
   * start
   */
  checkSupervised(): void {
    if (!this.#supervised && this.#refusal === undefined && !this.#stopped) throw new Error('the supervisor of the token host has ended');
  }

  /**
   * From now on, makes new MACs with the MAC key of this number, and gives requests to a host only
   * after it has shown that this key has the check value.
   */
  expectMacKey(check: Uint8Array, generation: number): void {
    this.#expectedMacKey.expect(check, generation);
  }

  /**
   * Reason why the running host is given no requests, or why none could start; undefined if it is
   * used, or if nobody knows.
   */
  get hostFault(): string | undefined {
    return this.#supervisor.hostFault;
  }

  /** The token's capabilities, as probed when the last host started. */
  get probe(): ProbeReport | undefined {
    return this.#probe;
  }

  get ready(): boolean {
    return this.#dispatcher.connected;
  }

  /** Whether the token had no room for the last key that was to be made. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Number of requests that wait for the token. */
  get waiting(): number {
    return this.#dispatcher.waiting;
  }

  /**
   * Seconds to wait before another attempt; undefined if the token would serve a new request of
   * this sender in time.
   */
  busySeconds(sender: Sender | undefined): number | undefined {
    return this.#dispatcher.busySeconds(sender);
  }

  /** Process id of the host, if this client started it. */
  get hostPid(): number | undefined {
    return this.#supervisor.hostPid;
  }

  async createKey(id: KeyId, type: KeyType): Promise<Uint8Array> {
    return this.#made(async () => madeKeyIn(await this.#request('createKey', writeCreateKey(id, type))));
  }

  async destroyKey(id: KeyId): Promise<void> {
    bodyOf(await this.#request('destroyKey', new FieldWriter().bytes(keyIdBytes(id)).finish()));
  }

  async signAsService(id: KeyId, algorithm: SignatureAlgorithm, message: Uint8Array): Promise<Uint8Array> {
    return bodyOf(await this.#request('signAsService', writeServiceSign(id, algorithm, message)));
  }

  /**
   * Assigns a purpose to a key from before keys had purposes, and returns its new CKA_ID. Only a
   * host that serves an operator's command does this.
   */
  async assignPurpose(id: KeyId, purpose: AssignablePurpose): Promise<KeyId> {
    return keyIdOf(bodyOf(await this.#request('assignPurpose', writeAssignPurpose(id, purpose))));
  }

  async signDigests(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
    return listIn(bodyOf(await this.#request('sign', writeSign(id, algorithm, digests))));
  }

  async signWithProof(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[], proofs: Proofs): Promise<SignOutcome> {
    const write = (some: readonly Uint8Array[]): Buffer => writeSign(id, algorithm, some, proofs);
    return this.#signatures.sign(id, digests, write, async (body, part) => this.#request('sign', body, part));
  }

  async signAsIdentity(id: KeyId, algorithm: SignatureAlgorithm, zones: readonly Uint8Array[], proofs: Proofs): Promise<SignOutcome> {
    const write = (some: readonly Uint8Array[]): Buffer => writeIdentitySign(id, algorithm, some, proofs);
    return this.#signatures.sign(id, zones, write, async (body, part) => this.#request('signAsIdentity', body, part));
  }

  async verifyProof(id: KeyId, proofs: Proofs): Promise<ProofOutcome> {
    const answer = await this.#request('verifyProof', writeVerifyProof(id, proofs));
    return answer.status === statuses.wrongSecret ? { verified: false } : { verified: true, by: bodyOf(answer).readUInt8(0) };
  }

  async makeMac(id: KeyId, kind: SecretKind, secret: Uint8Array, scope: Uint8Array): Promise<MadeMac> {
    const { generation } = this.#expectedMacKey;
    const { salt, mac } = readMadeMac(bodyOf(await this.#request('makeMac', writeMakeMac(id, kind, secret, scope, generation))));
    return { salt, mac: storedMac(mac, generation) };
  }

  async claimKey(id: KeyId, claim: string): Promise<ClaimOutcome> {
    return readClaimOutcome(bodyOf(await this.#request('claimKey', writeClaimKey(id, claim))));
  }

  /** Returns the ends of the host's account of uses, synced to disk. */
  async accountHeads(): Promise<readonly AccountHead[]> {
    return accountHeadsIn(await this.#request('accountHeads', new Uint8Array()));
  }

  async random(bytes: number): Promise<Uint8Array> {
    return bodyOf(await this.#request('random', new FieldWriter().u32(bytes).finish()));
  }

  /** @param pageKeys number of keys in each request to the host */
  async listKeys(pageKeys?: number): Promise<readonly TokenKey[]> {
    return allKeys(async (operation, body) => this.#request(operation, body), pageKeys);
  }

  async findKeys(ids: readonly KeyId[]): Promise<ReadonlySet<KeyId>> {
    return keysThere(async (operation, body) => this.#request(operation, body), ids);
  }

  async #made(make: () => Promise<Uint8Array>): Promise<Uint8Array> {
    try {
      const made = await make();
      this.#isFull = false;
      return made;
    } catch (error) {
      if (error instanceof TokenFull) this.#isFull = true;
      throw error;
    }
  }

  async #supervise(): Promise<void> {
    try {
      await this.#supervisor.run();
    } finally {
      this.#supervised = false;
    }
  }

  #request(operation: OperationName, body: Uint8Array, part?: Part): Promise<Answer> {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#stopped) throw new TokenUnavailable('the service is shutting down');
    const { request, answer } = this.#requests.make(operation, body, part);
    this.#dispatcher.add(request);
    return answer;
  }
}
