import { setTimeout as delay } from 'node:timers/promises';
import { HostLink, type LinkEvents } from './host-link.ts';
import { HostProcess, type HostSettings } from './host-process.ts';
import { PinRefusedError, type HostRefusedError } from '../token.ts';
import { RepeatedMessages, type TokenClientLog } from './repeated-messages.ts';
import type { TokenRequest } from './token-request.ts';

const connectRetryMs = 20;
const restartPauseMs = 500;
/** After a host that was not to be used. */
const judgePauseMs = 1000;
const startMaxMs = 30_000;

export interface SupervisorEvents extends LinkEvents {
  /** Why a host that has been connected to is not to be used; undefined where it is. */
  judge(link: HostLink): Promise<string | undefined>;
  connected(link: HostLink): void;
  lost(unanswered: readonly TokenRequest[]): void;
  /** No other host is started. */
  refused(refusal: HostRefusedError): void;
}

/**
 * Keeps one host alive and connected: the first restart at once, later ones every 500 ms. A host that somebody else starts (`external`) is
 * connected to as soon as it listens. After a refused PIN there is no other start, nor where the first host says that token or configuration will not do;
 * one that served before is tried again, as they may be mended.
 */
export class HostSupervisor {
  readonly #config: HostSettings;
  readonly #configPath: string;
  readonly #events: SupervisorEvents;
  readonly #log: TokenClientLog;
  readonly #repeated: RepeatedMessages;
  readonly #host = new HostProcess();
  #link: HostLink | undefined;
  #over = false;
  #hasServed = false;
  #hostFault: string | undefined;
  #lastReason = 'the token host does not answer';

  constructor(config: HostSettings, configPath: string, events: SupervisorEvents, log: TokenClientLog) {
    this.#config = config;
    this.#configPath = configPath;
    this.#events = events;
    this.#log = log;
    this.#repeated = new RepeatedMessages(log);
  }

  /** Process id of the host, where it is this process's child. */
  get hostPid(): number | undefined {
    return this.#host.pid;
  }

  /** What the host said last, for whoever waits for it in vain. */
  get lastReason(): string {
    return this.#lastReason;
  }

  /** Why the last host that was connected to is not used. */
  get hostFault(): string | undefined {
    return this.#hostFault;
  }

  /** Returns when it is stopped, or when a host has said that no other is to be started. */
  async run(): Promise<void> {
    let lastStartMs = -Infinity;
    while (!this.#over) {
      if (this.#config.host === 'spawn' && !this.#host.running) {
        const pauseMs = lastStartMs + restartPauseMs - performance.now();
        if (pauseMs > 0) await delay(pauseMs);
        if (this.#isOver()) return;
        lastStartMs = performance.now();
        this.#startHost();
      }
      const link = await this.#connect();
      if (link === undefined) {
        // A host that is stopped, or that hangs before it listens, has no deadline of its own.
        if (performance.now() - lastStartMs > startMaxMs) this.#host.kill();
        await delay(connectRetryMs);
        continue;
      }
      this.#hostFault = await this.#events.judge(link);
      if (this.#hostFault !== undefined || link.closed) {
        await this.#leave(link);
        continue;
      }
      this.#log.info(`connected to the token host (${link.threads.length} threads)`);
      this.#hasServed = true;
      this.#repeated.forget();
      this.#events.connected(link);
      const unanswered = await link.ended;
      this.#link = undefined;
      if (!this.#isOver() && !link.draining) {
        this.#log.error(`the connection to the token host is lost; ${unanswered.length} requests were on their way`);
      }
      this.#events.lost(unanswered);
      await this.#host.stop();
    }
  }

  /** One that is not to be used: the same token may be another, or complete, in a while. */
  async #leave(link: HostLink): Promise<void> {
    if (this.#hostFault !== undefined && !this.#isOver()) {
      this.#lastReason = this.#hostFault;
      this.#repeated.error(`the token host is not used: ${this.#hostFault}`);
    }
    link.close();
    this.#link = undefined;
    if (this.#isOver()) return;
    await this.#host.stop();
    await delay(judgePauseMs);
  }

  async stop(): Promise<void> {
    this.#over = true;
    this.#link?.close();
    await this.#host.stop();
  }

  // A call, since the compiler takes a field that it has seen false once for false for ever.
  #isOver(): boolean {
    return this.#over;
  }

  async #connect(): Promise<HostLink | undefined> {
    try {
      const link = await HostLink.connect(this.#config.socketPath, this.#events);
      this.#link = link;
      if (this.#over) link.close();
      return link;
    } catch (error) {
      if (isDenied(error)) {
        this.#lastReason = `${this.#config.socketPath}: permission denied; token.clientUser is the user of the daemon, which has to be in the group of the socket`;
        this.#repeated.error(this.#lastReason);
      }
      // Otherwise nobody listens yet.
      return undefined;
    }
  }

  #startHost(): void {
    this.#host.start(this.#config, this.#configPath, {
      said: (line) => {
        this.#lastReason = line;
        this.#repeated.error(`token host: ${line}`);
      },
      exited: (reason, cause) => {
        if (this.#over || cause === 'recycled') return;
        this.#repeated.error(reason);
        if (cause === 'failed' || (this.#hasServed && !(cause instanceof PinRefusedError))) return;
        this.#over = true;
        this.#events.refused(cause);
      },
    });
  }
}

function isDenied(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EACCES';
}
