import type { Server, ServerResponse } from 'node:http';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';

const pollMs = 20;
/**
 * How long idle connections may stay open for one more request, which is answered as their last.
 */
const leaveMs = 1000;
/** How long the connections accepted last may take to send their request. */
const lastRequestsMs = 1000;

/**
 * Shuts HTTP servers down without losing a request. From its start, every answer closes its
 * connection. At first the servers keep accepting, so that clients with persistent connections
 * leave them on an answer and not on a reset; then they stop accepting, and serve everything
 * already accepted. If the service manager holds the sockets, later clients wait for the next
 * instance.
 */
export class Draining {
  readonly #servers: Server[] = [];
  readonly #answering = new Set<ServerResponse>();
  #running = 0;
  #begun = false;
  #refusing = false;

  /**
   * Counts the requests of a server, and closes it at the end. Call it before the server listens.
   */
  watch(server: Server): void {
    this.#servers.push(server);
    // This must run before the handler, which may send the head of its answer at once.
    server.prependListener('request', (_request, response) => {
      this.#answering.add(response);
      response.once('close', () => {
        this.#answering.delete(response);
      });
      if (this.#begun) response.setHeader('Connection', 'close');
    });
  }

  /** Whether the service is shutting down. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Whether new requests are refused. */
  get refusing(): boolean {
    return this.#refusing;
  }

  /** Number of requests that are not fully answered, or still run though their client is gone. */
  get unanswered(): number {
    return Math.max(this.#answering.size, this.#running);
  }

  /** Runs the work of a request, which continues after its client has hung up. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
    }
  }

  /**
   * Resolves when every request is answered and its work has ended, or after the given time.
   * @returns the number of requests that were cut off
   */
  async end(withinSeconds: number): Promise<number> {
    this.#begun = true;
    const deadline = performance.now() + withinSeconds * 1000;
    for (const response of this.#answering) if (!response.headersSent) response.setHeader('Connection', 'close');
    await this.#until(async () => this.#left(), performance.now() + Math.min(leaveMs, withinSeconds * 500));
    // Read what has arrived first: closing a connection whose request has already arrived would
    // lose it.
    await turn();
    for (const server of this.#servers) server.close();
    await this.#until(async () => this.#left(), performance.now() + Math.min(lastRequestsMs, withinSeconds * 250));
    this.#refusing = true;
    await this.#until(async () => Promise.resolve(this.unanswered === 0), deadline);
    return this.unanswered;
  }

  async #left(): Promise<boolean> {
    const counts = await Promise.all(this.#servers.map(connectionsOf));
    return counts.every((count) => count === 0);
  }

  async #until(done: () => Promise<boolean>, deadline: number): Promise<void> {
    while (!(await done()) && performance.now() < deadline) await delay(Math.min(pollMs, Math.max(0, deadline - performance.now())));
  }
}

async function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.getConnections((error, count) => {
      resolve(error === null ? count : 0);
    });
  });
}
