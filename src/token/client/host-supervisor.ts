import { setTimeout as delay } from 'node:timers/promises';
import { HostLink, type LinkEvents } from './host-link.ts';
import { HostProcess, type HostSettings } from './host-process.ts';
import { readStartFailure, type StartFailure } from '../start-failure.ts';
import { PinRefusedError, type HostRefusedError } from '../token.ts';
import { RepeatedMessages, type TokenClientLog } from './repeated-messages.ts';
import type { TokenRequest } from './request-lane.ts';
import { errorCode } from '../../telemetry/error-code.ts';

const connectRetryMs = 20;
const restartPauseMs = 500;
/** Pause after a host that was rejected. */
const judgePauseMs = 1000;
/**
 * A start that hangs before the host watches its own calls ends after this; one call may take its
 * whole time.
 */
const startMaxMs = 30_000;
const startMarginMs = 10_000;
/** How often the reason of a host's failed start is looked for. */
const failureLookMs = 500;

export interface SupervisorEvents extends LinkEvents {
  /** Returns why a connected host must not be used; undefined if it may be used. */
  judge(link: HostLink): Promise<string | undefined>;
  connected(link: HostLink): void;
  lost(unanswered: readonly TokenRequest[]): void;
  /** The host refused to start, and no other is started. */
  refused(refusal: HostRefusedError): void;
}

/**
 * Keeps one host alive and connected: the first restart is immediate, later ones follow every 500
 * ms. It connects to a host that is started elsewhere (`external`) as soon as that listens. It
 * starts no other host after a refused PIN, or if the first host rejects the token or the
 * configuration; once a host has served, it keeps trying, since the fault may be repaired.
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
  #startFailure: StartFailure | undefined;
  #lookedAtMs = -Infinity;
  #lastReason = 'the token host does not answer';

  constructor(config: HostSettings, configPath: string, events: SupervisorEvents, log: TokenClientLog) {
    this.#config = config;
    this.#configPath = configPath;
    this.#events = events;
    this.#log = log;
    this.#repeated = new RepeatedMessages(log);
  }

  /** Process id of the host, if it is a child of this process. */
  get hostPid(): number | undefined {
    return this.#host.pid;
  }

  /** The host's last message, for error messages when it does not come up. */
  get lastReason(): string {
    return this.#lastReason;
  }

  /**
   * Reason why the last connected host is not used, or why the last one started elsewhere has
   * ended.
   */
  get hostFault(): string | undefined {
    return this.#hostFault ?? this.#startFailure?.message;
  }

  /** Why the last host that was started elsewhere could not start; undefined while one listens. */
  get startFailure(): StartFailure | undefined {
    return this.#startFailure;
  }

  /** Runs until it is stopped, or until a host refuses to start. */
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
        // A host that is stopped (SIGSTOP), or that hangs before it listens, does not end at a
        // deadline of its own.
        if (performance.now() - lastStartMs > this.#startMaxMs) this.#host.kill();
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
        this.#log.error(`lost the connection to the token host; ${unanswered.length} requests were in flight`);
      }
      this.#events.lost(unanswered);
      await this.#host.stop();
    }
  }

  /**
   * Leaves a host that must not be used; the token may be replaced or completed later, so others
   * are tried.
   */
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

  get #startMaxMs(): number {
    return Math.max(startMaxMs, this.#config.callTimeoutSeconds * 1000 + startMarginMs);
  }

  // A method, since the compiler assumes that a field once seen as false stays false.
  #isOver(): boolean {
    return this.#over;
  }

  async #connect(): Promise<HostLink | undefined> {
    try {
      const link = await HostLink.connect(this.#config.socketPath, this.#events);
      this.#link = link;
      this.#startFailure = undefined;
      if (this.#over) link.close();
      return link;
    } catch (error) {
      if (isDenied(error)) {
        this.#lastReason = `${this.#config.socketPath}: permission denied; token.clientUser must be the daemon's user, which must be in the group of the socket`;
        this.#repeated.error(this.#lastReason);
      } else {
        // No host is listening yet.
        this.#lookForStartFailure();
      }
      return undefined;
    }
  }

  /** A host of the service manager leaves a reason, which may change from host to host. */
  #lookForStartFailure(): void {
    const now = performance.now();
    if (this.#config.host !== 'external' || now - this.#lookedAtMs < failureLookMs) return;
    this.#lookedAtMs = now;
    this.#startFailure = readStartFailure(this.#config.socketPath);
    if (this.#startFailure === undefined) return;
    this.#lastReason = this.#startFailure.message;
    this.#repeated.error(`the token host cannot start: ${this.#lastReason}`);
  }

  #startHost(): void {
    this.#host.start(this.#config, this.#configPath, {
      said: ({ level, message, fields, isOwn }) => {
        if (isOwn) this.#lastReason = message;
        this.#repeated.say(level, message, { process: 'token host', ...fields });
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
  return errorCode(error) === 'EACCES';
}
