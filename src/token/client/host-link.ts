import { createConnection, type Socket } from 'node:net';
import { Farewell, Greeting } from '../host/greeting.ts';
import { operations, type Answer, type OperationName } from '../wire/frames.ts';
import type { ProbeReport } from '../wire/probe-report.ts';
import { ThreadLink } from './thread-link.ts';
import type { TokenRequest } from './request-lane.ts';

const greetingTimeoutMs = 5000;

export interface LinkEvents {
  answered(link: HostLink, request: TokenRequest, answer: Answer): void;
  /** The host answers its pending requests and then ends: nothing more may be sent. */
  draining(link: HostLink, reason: string): void;
}

/** The connections to one host process. */
export class HostLink {
  /** The token's capabilities. */
  readonly probe: ProbeReport;
  readonly threads: ThreadLink[] = [];
  /** No new requests are sent over this link. */
  draining = false;
  #closed = false;
  /** Resolves with the unanswered requests once the connection has ended, for whatever reason. */
  readonly ended: Promise<readonly TokenRequest[]>;
  readonly #sockets: Socket[];
  #end: (unanswered: readonly TokenRequest[]) => void = () => undefined;

  private constructor(control: Socket, probe: ProbeReport) {
    this.#sockets = [control];
    this.probe = probe;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /**
   * Connects to the host's socket, reads the addresses of its threads, and connects to each.
   * Rejects if no host is listening.
   */
  static async connect(socketPath: string, events: LinkEvents): Promise<HostLink> {
    const control = await connected(socketPath);
    // A stopped (SIGSTOP) host accepts connections but sends nothing.
    const timer = setTimeout(() => {
      control.destroy();
    }, greetingTimeoutMs);
    try {
      const lines = new Lines(control);
      const greeting = Greeting.parse(JSON.parse(await lines.first));
      const link = new HostLink(control, greeting.probe);
      control.on('close', () => {
        link.close();
      });
      for (const socket of await Promise.all(greeting.threads.map(connected))) {
        link.#sockets.push(socket);
        socket.on('close', () => {
          link.close();
        });
        link.threads.push(
          new ThreadLink(
            socket,
            (request, answer) => {
              events.answered(link, request, answer);
            },
            () => {
              link.close();
            },
          ),
        );
      }
      lines.later = (line) => {
        events.draining(link, Farewell.parse(JSON.parse(line)).draining);
      };
      if (link.#sockets.some((socket) => socket.destroyed)) throw new Error('the host closed its socket');
      return link;
    } catch (error) {
      control.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Whether no request is in flight. */
  get idle(): boolean {
    return this.threads.every(({ pending }) => pending.size === 0);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Sends the host a question before it is given requests. Returns undefined if it does not answer,
   * or ends.
   */
  async askFirst(operation: OperationName, withinMs: number, body: Uint8Array = new Uint8Array()): Promise<Answer | undefined> {
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
    const none = (): void => {
      resolve(undefined);
    };
    const timer = setTimeout(none, withinMs);
    void this.ended.then(none);
    const now = performance.now();
    this.threads[0]?.send({
      id: 0,
      operation,
      code: operations[operation],
      body,
      sender: undefined,
      queuedAtMs: now,
      deadlineMs: now + withinMs,
      repeatable: false,
      repeated: false,
      slow: false,
      continues: false,
      expectedMs: undefined,
      settle: resolve,
      fail: none,
    });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#closed = true;
    for (const socket of this.#sockets) socket.destroy();
    const unanswered = this.threads.flatMap(({ pending }) => [...pending.values()]);
    for (const { pending } of this.threads) pending.clear();
    this.#end(unanswered);
  }
}

/** The lines of the control socket: the first is the greeting, later ones are passed to `later`. */
class Lines {
  readonly first: Promise<string>;
  later: (line: string) => void = () => undefined;

  constructor(socket: Socket) {
    this.first = new Promise((resolve, reject) => {
      let rest = '';
      let greeted = false;
      socket.on('data', (chunk: Buffer) => {
        const lines = (rest + chunk.toString('utf8')).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          if (greeted) this.later(line);
          else resolve(line);
          greeted = true;
        }
      });
      socket.once('close', () => {
        reject(new Error('the host closed its socket'));
      });
    });
  }
}

async function connected(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
  });
}
