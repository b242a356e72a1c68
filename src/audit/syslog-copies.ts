import { setTimeout as delay } from 'node:timers/promises';
import type { SyslogConfig } from '../config/syslog-config.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Entry } from './record.ts';
import { NotHandedOver } from './syslog/hand-over.ts';
import { SyslogForwarder, type ForwarderStatus } from './syslog/forwarder.ts';

/** How long a start waits for a server without which requests would be refused. */
const startWaitMs = 2000;

/** The log whose records are copied. */
export interface CopiedLog {
  readonly directory: string;
  readonly log: Logger;
  /**
   * Number of the last record on disk: only those are sent, since a failed write takes others back.
   */
  durable(): number;
  append(entry: Entry): Promise<unknown>;
}

interface HeldUp {
  /** ISO 8601. */
  readonly since: string;
  readonly reason: string;
  /** Number of requests and operators' commands refused so far. */
  refused: number;
}

/** The copies of the records for a syslog server, and what the log does without it. */
export class SyslogCopies {
  readonly #forwarder: SyslogForwarder;
  readonly #copied: CopiedLog;
  readonly #server: SyslogConfig;
  #heldUp: HeldUp | undefined;

  private constructor(server: SyslogConfig, copied: CopiedLog, forwarder: SyslogForwarder) {
    this.#server = server;
    this.#copied = copied;
    this.#forwarder = forwarder;
  }

  /** Prepares the copies; undefined without a server. */
  static async open(server: SyslogConfig | undefined, copied: CopiedLog): Promise<SyslogCopies | undefined> {
    if (server === undefined) return undefined;
    const { directory, log } = copied;
    const turned = (reason: string | undefined): void => {
      opened.#turned(reason);
    };
    const forwarder = await SyslogForwarder.open({ directory, server, log, turned }, () => copied.durable());
    // Nothing turns before it is started.
    const opened = new SyslogCopies(server, copied, forwarder);
    return opened;
  }

  get status(): ForwarderStatus {
    return this.#forwarder.status;
  }

  /** Number of the last record that need not be sent again: later ones must stay in the log. */
  get receivedRecord(): number {
    return this.#forwarder.receivedRecord;
  }

  /** @throws {NotHandedOver} if requests have to be refused now */
  check(): void {
    const reason = this.#forwarder.heldUp;
    if (reason === undefined) return;
    this.#heldUp ??= { since: new Date().toISOString(), reason, refused: 0 };
    this.#heldUp.refused += 1;
    throw new NotHandedOver(reason);
  }

  async start(): Promise<void> {
    this.#forwarder.start();
    if (this.#server.required) await Promise.race([this.#forwarder.attempted, delay(startWaitMs, undefined, { ref: false })]);
  }

  /** Records how many requests were refused. To be called while records can be appended. */
  async sumUp(): Promise<void> {
    const heldUp = this.#heldUp;
    if (heldUp === undefined) return;
    this.#heldUp = undefined;
    const { since, reason, refused } = heldUp;
    await this.#copied.append({ kind: 'outage', since, reason: `not handed over to the syslog server: ${reason}`, refused }).catch(() => {
      this.#heldUp ??= heldUp;
    });
  }

  async stop(): Promise<void> {
    await this.#forwarder.stop();
  }

  #turned(reason: string | undefined): void {
    if (reason === undefined) void this.sumUp();
    else this.#heldUp ??= { since: new Date().toISOString(), reason, refused: 0 };
  }
}
