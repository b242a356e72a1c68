import { setTimeout as delay } from 'node:timers/promises';
import type { TokenConfig } from '../../config/config.ts';
import type { KeyType } from '../../config/profile.ts';
import { keyIdOf, type KeyId } from '../key-id.ts';
import type { ProbeReport } from '../probe-report.ts';
import type { SignatureAlgorithm } from '../signature-algorithm.ts';
import {
  TokenUnavailable,
  type HostRefusedError,
  type Proof,
  type SecretKind,
  type SignOutcome,
  type Token,
  type TokenKey,
} from '../token.ts';
import { FieldReader, FieldWriter } from '../wire/fields.ts';
import { operations, statuses, type Frame, type OperationName } from '../wire/frames.ts';
import { writeCreateKey, writeMakeMac, writeSign, writeVerifyProof } from '../wire/messages.ts';
import { connectHost, type HostLink, type LinkRequest } from './host-link.ts';
import { HostProcess } from './host-process.ts';

/** Requests that wait at one thread of the host: one in work and one to go on with. */
const requestsAtThread = 2;
const connectRetryMs = 20;
const restartPauseMs = 500;
/** A start is more than one call: the process, the module, the login, the walk over the keys. */
const startTimeoutMs = 30_000;

export interface TokenClientLog {
  info(message: string): void;
  error(message: string): void;
}

/**
 * The daemon's side of the token host: keeps the connections, hands out requests to the least busy thread, and brings the host back when it
 * ends (the first restart at once, then every 500 ms). What was on its way is sent once more, key creation excepted.
 */
export class TokenClient implements Token {
  readonly #config: TokenConfig;
  readonly #configPath: string;
  readonly #log: TokenClientLog;
  readonly #host = new HostProcess();
  readonly #waiting: LinkRequest[] = [];
  #link: HostLink | undefined;
  #nextId = 1;
  #stopped = false;
  /** Why no further host is started. */
  #refusal: HostRefusedError | undefined;

  constructor(config: TokenConfig, configPath: string, log: TokenClientLog) {
    this.#config = config;
    this.#configPath = configPath;
    this.#log = log;
  }

  /** Starts the host (or waits for it) and returns once it serves. @throws {TokenUnavailable} after 30 s, or at once for a host that says that no start will do. */
  async start(): Promise<void> {
    void this.#keepConnected();
    const deadline = Date.now() + startTimeoutMs;
    while (this.#link === undefined) {
      if (this.#refusal !== undefined) throw this.#refusal;
      if (Date.now() > deadline) throw new TokenUnavailable('the token host does not answer');
      await delay(connectRetryMs);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#link?.close();
    this.#link = undefined;
    this.#failAll('the service stops');
    await this.#host.stop();
  }

  /** What the token can do, as its host found out at its start. */
  get probe(): ProbeReport | undefined {
    return this.#link?.probe;
  }

  get ready(): boolean {
    return this.#link !== undefined;
  }

  /** Process id of the host, where this client started it. */
  get hostPid(): number | undefined {
    return this.#host.pid;
  }

  async createKey(id: KeyId, type: KeyType): Promise<Uint8Array> {
    return ok(await this.#request('createKey', writeCreateKey(id, type)));
  }

  async destroyKey(id: KeyId): Promise<void> {
    ok(await this.#request('destroyKey', new FieldWriter().bytes(Buffer.from(id, 'hex')).finish()));
  }

  async signAsService(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
    return values(ok(await this.#request('sign', writeSign(id, algorithm, digests))));
  }

  async signWithProof(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[], proof: Proof): Promise<SignOutcome> {
    const frame = await this.#request('sign', writeSign(id, algorithm, digests, proof));
    return frame.code === statuses.wrongSecret ? { verified: false } : { verified: true, values: values(ok(frame)) };
  }

  async verifyProof(id: KeyId, proof: Proof): Promise<boolean> {
    const frame = await this.#request('verifyProof', writeVerifyProof(id, proof));
    if (frame.code === statuses.wrongSecret) return false;
    ok(frame);
    return true;
  }

  async makeMac(id: KeyId, kind: SecretKind, salt: Uint8Array, secret: Uint8Array): Promise<Uint8Array> {
    return ok(await this.#request('makeMac', writeMakeMac(id, kind, salt, secret)));
  }

  async random(bytes: number): Promise<Uint8Array> {
    return ok(await this.#request('random', new FieldWriter().u32(bytes).finish()));
  }

  async listKeys(): Promise<readonly TokenKey[]> {
    return values(ok(await this.#request('listKeys', Buffer.alloc(0)))).map((id) => ({ id: keyIdOf(id) }));
  }

  async #request(operation: OperationName, body: Uint8Array): Promise<Frame> {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#stopped) throw new TokenUnavailable('the service stops');
    if (this.#waiting.length >= this.#config.queueMaxRequests) throw new TokenUnavailable('too many requests wait for the token');
    const { promise, resolve, reject } = Promise.withResolvers<Frame>();
    const id = this.#nextId;
    this.#nextId = (id % 0xffffffff) + 1;
    // The host ends itself at the same time-out; the margin lets a repeated request still come through.
    const timer = setTimeout(
      () => {
        reject(new TokenUnavailable(`the token did not answer ${operation} in time`));
        const position = this.#waiting.indexOf(request);
        if (position >= 0) this.#waiting.splice(position, 1);
      },
      this.#config.callTimeoutSeconds * 1000 + 1000,
    );
    const request: LinkRequest = {
      id,
      code: operations[operation],
      body,
      repeatable: operation !== 'createKey',
      repeated: false,
      slow: operation === 'createKey',
      settle(frame) {
        clearTimeout(timer);
        resolve(frame);
      },
      fail(error) {
        clearTimeout(timer);
        reject(error);
      },
    };
    this.#waiting.push(request);
    this.#dispatch();
    return promise;
  }

  #dispatch(): void {
    if (this.#link === undefined) return;
    while (this.#waiting.length > 0) {
      const free = this.#link.threads
        .filter(({ pending }) => pending.size < requestsAtThread && ![...pending.values()].some(({ slow }) => slow))
        .toSorted((a, b) => a.pending.size - b.pending.size)[0];
      if (free === undefined) return;
      const next = this.#waiting.shift();
      if (next !== undefined) free.send(next);
    }
  }

  async #keepConnected(): Promise<void> {
    let lastStart = 0;
    while (!this.#stopped && this.#refusal === undefined) {
      if (this.#config.host === 'spawn' && !this.#host.running && this.#link === undefined) {
        const pause = lastStart + restartPauseMs - Date.now();
        if (pause > 0) await delay(pause);
        if (this.#stopped) return;
        lastStart = Date.now();
        this.#startHost();
      }
      if (this.#link === undefined) await this.#connect();
      await delay(connectRetryMs, undefined, { ref: false });
    }
  }

  #startHost(): void {
    this.#host.start(this.#config, this.#configPath, {
      said: (line) => {
        this.#log.error(`token host: ${line}`);
      },
      exited: (reason, refusal) => {
        if (this.#stopped) return;
        this.#log.error(reason);
        if (refusal === undefined) return;
        this.#refusal = refusal;
        this.#failAll(refusal.message);
      },
    });
  }

  async #connect(): Promise<void> {
    try {
      const link = await connectHost(this.#config.socketPath, {
        answered: () => {
          this.#dispatch();
        },
        lost: (unanswered) => {
          this.#lost(unanswered);
        },
      });
      if (this.#stopped) {
        link.close();
        return;
      }
      this.#link = link;
      this.#log.info(`connected to the token host (${link.threads.length} threads)`);
      this.#dispatch();
    } catch {
      // Nobody listens: the loop tries again.
    }
  }

  #lost(unanswered: readonly LinkRequest[]): void {
    this.#link = undefined;
    if (this.#stopped) return;
    this.#log.error(`the connection to the token host is lost; ${unanswered.length} requests were on their way`);
    for (const request of unanswered.toReversed()) {
      if (request.repeatable && !request.repeated) {
        request.repeated = true;
        this.#waiting.unshift(request);
      } else {
        request.fail(new TokenUnavailable('the token host ended while it worked on the request'));
      }
    }
  }

  #failAll(reason: string): void {
    for (const request of this.#waiting.splice(0)) request.fail(new TokenUnavailable(reason));
  }
}

function ok(frame: Frame): Buffer {
  if (frame.code === statuses.ok) return frame.body;
  if (frame.code === statuses.fault) {
    const reader = new FieldReader(frame.body);
    throw new TokenUnavailable(`PKCS#11 0x${reader.u32().toString(16)}: ${reader.bytes().toString('utf8')}`);
  }
  throw new Error(`the token host refuses a request: ${frame.body.toString('utf8')}`);
}

function values(body: Buffer): readonly Buffer[] {
  const reader = new FieldReader(body);
  const list = reader.list();
  reader.end();
  return list;
}
