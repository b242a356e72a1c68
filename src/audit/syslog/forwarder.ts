import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { SyslogConfig } from '../../config/syslog-config.ts';
import type { Logger } from '../../telemetry/log.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { stalledMs, SyslogConnection } from './connection.ts';
import { HandOver } from './hand-over.ts';
import { syslogHostname, syslogMessage } from './message.ts';
import { PositionFile, type Position } from './position.ts';
import { endOfLog, unsentLines } from './unsent-lines.ts';

const pollMs = 500;
/**
 * Syslog has no receipts: records are taken as received if the server's machine has acknowledged
 * them and the connection is still open after this.
 */
const settledMs = 5000;
const retryMaxMs = 30_000;
/** Requests wait for the server. */
const retryRequiredMaxMs = 2000;

export interface ForwarderOptions {
  readonly directory: string;
  readonly server: SyslogConfig;
  readonly log: Logger;
  readonly settleMs?: number;
  /** Is called when requests have to be refused, and when they need not any longer. */
  readonly turned?: (heldUp: string | undefined) => void;
}

/** State of forwarding, for health checks and metrics. */
export interface ForwarderStatus {
  readonly isConnected: boolean;
  /** Number of records that are not sent yet. */
  readonly waitingRecords: number;
  /** Reason of the last failure; undefined while connected. */
  readonly fault: string | undefined;
  /** Only if the server is required. */
  readonly handOver?:
    | {
        /** Whether requests have to be refused now. */
        readonly isHeldUp: boolean;
        /** Age of the oldest record that is not taken as received. */
        readonly lagSeconds: number;
      }
    | undefined;
}

interface Unsettled {
  readonly at: number;
  readonly position: Position;
  /** Bytes of the connection up to there. */
  readonly sent: number;
}

/**
 * Sends the audit records to a syslog server, from the files of the log: no request waits for it,
 * and after an outage of the server, or a restart, it continues where it was. Each record is sent at
 * least once; those of the last seconds before the end of a connection are sent again.
 */
export class SyslogForwarder {
  readonly #options: ForwarderOptions;
  readonly #file: PositionFile;
  readonly #stop = new AbortController();
  /** Number of the last record on disk. */
  readonly #durable: () => number;
  /** Position up to which the records are taken as received. */
  #received: Position;
  #sent: Position;
  #work: Promise<void> | undefined;
  readonly #settleMs: number;
  readonly #handOver: HandOver | undefined;
  /** When the present connection was opened (monotonic clock). */
  #connectedSinceMs: number | undefined;
  #fault: string | undefined;
  readonly #attempted = Promise.withResolvers<void>();
  #looking: NodeJS.Timeout | undefined;

  private constructor(options: ForwarderOptions, durable: () => number, file: PositionFile, from: Position) {
    this.#options = options;
    this.#durable = durable;
    this.#file = file;
    this.#received = from;
    this.#sent = from;
    const { server, settleMs = settledMs } = options;
    this.#settleMs = settleMs;
    if (server.required) this.#handOver = new HandOver({ lagMaxMs: server.lagMaxSeconds * 1000, settleMs });
  }

  /**
   * Opens it at the stored position, or for the first time at the end of the log. If the stored
   * position cannot be read, the whole log is sent again.
   */
  static async open(options: ForwarderOptions, durable: () => number): Promise<SyslogForwarder> {
    const { directory, log } = options;
    const file = new PositionFile(directory);
    let from: Position | undefined;
    try {
      from = file.read();
    } catch (error) {
      log.error('the position of the syslog forwarding cannot be read; the whole audit log is sent again', { reason: reasonOf(error) });
      from = { file: 0, offset: 0, record: 0 };
    }
    if (from === undefined) {
      from = await endOfLog(directory, durable());
      await store(file, from, log);
    }
    return new SyslogForwarder(options, durable, file, from);
  }

  get status(): ForwarderStatus {
    const isConnected = this.#connectedSinceMs !== undefined;
    const handOver = this.#handOver;
    return {
      isConnected,
      waitingRecords: Math.max(0, this.#durable() - this.#sent.record),
      fault: isConnected ? undefined : this.#fault,
      ...(handOver === undefined ? {} : { handOver: { isHeldUp: handOver.isHeldUp, lagSeconds: handOver.lagMs / 1000 } }),
    };
  }

  /** Number of the last record that need not be sent again: later ones must stay in the log. */
  get receivedRecord(): number {
    return this.#received.record;
  }

  /** Why requests have to be refused now; undefined if they need not. */
  get heldUp(): string | undefined {
    if (this.#handOver?.isHeldUp !== true) return undefined;
    return this.#connectedSinceMs === undefined ? (this.#fault ?? 'not connected yet') : 'it does not acknowledge them';
  }

  /** Resolves once the first attempt to connect has ended. */
  get attempted(): Promise<void> {
    return this.#attempted.promise;
  }

  start(): void {
    this.#work ??= this.#run();
    if (this.#handOver === undefined) return;
    this.#looking ??= setInterval(() => {
      this.#look();
    }, pollMs / 2).unref();
  }

  /** Ends at once; what is not sent yet is sent after the next start. */
  async stop(): Promise<void> {
    clearInterval(this.#looking);
    this.#stop.abort();
    await this.#work;
  }

  async #run(): Promise<void> {
    const { server, log } = this.#options;
    const { host, port } = server;
    for (let failures = 0; !this.#isStopped; failures += 1) {
      const before = this.#sent.record;
      try {
        await this.#forward(await SyslogConnection.open(server, this.#stop.signal));
      } catch (error) {
        if (this.#isStopped) return;
        const fault = reasonOf(error);
        if (fault !== this.#fault || this.#connectedSinceMs !== undefined)
          log.warn('audit records cannot be sent to the syslog server', { host, port, reason: fault });
        this.#fault = fault;
        if (this.#sent.record > before) failures = 0;
        this.#sent = this.#received;
      } finally {
        this.#connectedSinceMs = undefined;
        this.#look();
        this.#attempted.resolve();
      }
      await this.#wait(Math.min(server.required ? retryRequiredMaxMs : retryMaxMs, pollMs * 2 ** Math.min(failures, 10)));
    }
  }

  async #forward(connection: SyslogConnection): Promise<void> {
    const { directory, server, log } = this.#options;
    const options = { facility: server.facility, hostname: syslogHostname(hostname()) };
    const unsettled: Unsettled[] = [];
    this.#connectedSinceMs = performance.now();
    this.#fault = undefined;
    this.#look();
    this.#attempted.resolve();
    log.info('audit records are sent to the syslog server', { host: server.host, port: server.port, fromRecord: this.#sent.record + 1 });
    try {
      while (!this.#isStopped) {
        const { lines, after } = await unsentLines(directory, this.#sent, this.#durable());
        if (connection.ended !== undefined) throw new Error(connection.ended);
        if (lines.length > 0) await connection.send(Buffer.concat(lines.map(({ line, head }) => syslogMessage(line, head, options))));
        const hasMoved = after.file !== this.#sent.file || after.offset !== this.#sent.offset;
        this.#sent = after;
        if (hasMoved) unsettled.push({ at: performance.now(), position: after, sent: connection.progress.sent });
        else await this.#wait(pollMs);
        const now = performance.now();
        if (connection.ended !== undefined) throw new Error(connection.ended);
        await this.#settle(unsettled, { before: now - this.#settleMs, acknowledged: connection.progress.acknowledged });
        if (unsettled[0] !== undefined && unsettled[0].at < now - stalledMs)
          throw new Error(`the server acknowledged nothing for ${stalledMs / 1000} s`);
      }
    } finally {
      connection.close();
    }
  }

  /** Stores the last position that was sent before a time (monotonic clock), and has arrived. */
  async #settle(
    unsettled: Unsettled[],
    { before, acknowledged }: { readonly before: number; readonly acknowledged: number },
  ): Promise<void> {
    const settled = unsettled.findLastIndex(({ at, sent }) => at <= before && sent <= acknowledged);
    const [last] = settled < 0 ? [] : unsettled.splice(0, settled + 1).toReversed();
    if (last === undefined) return;
    this.#received = last.position;
    await store(this.#file, last.position, this.#options.log);
  }

  #look(): void {
    const forwarding = { connectedSinceMs: this.#connectedSinceMs, received: this.#received.record, durable: this.#durable() };
    if (this.#handOver?.look(forwarding, performance.now()) !== true) return;
    const { host, port } = this.#options.server;
    const { heldUp: reason } = this;
    if (reason === undefined) this.#options.log.info('audit records are handed over to the syslog server', { host, port });
    else this.#options.log.error('audit records cannot be handed over to the syslog server; requests are refused', { host, port, reason });
    this.#options.turned?.(reason);
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #wait(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal, ref: false }).catch(() => undefined);
  }
}

/** Stores the position. If the disk is full, more records are sent again after a restart. */
async function store(file: PositionFile, position: Position, log: Logger): Promise<void> {
  await file.write(position).catch((error: unknown) => {
    log.warn('the position of the syslog forwarding cannot be stored', { reason: reasonOf(error) });
  });
}
