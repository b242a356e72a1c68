import type { Server, ServerResponse } from 'node:http';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';

const pollMs = 20;
/** How long connections may stay for their next request, which is answered as their last. */
const leaveMs = 1000;
/** How long connections that were accepted last may take to send theirs. */
const lastRequestsMs = 1000;

/**
 * The end of HTTP servers without the loss of a request. From its begin every answer closes its
 * connection. First the servers go on accepting, so that clients with kept connections leave them
 * on an answer and not on a reset; then they stop, and what was accepted is served to its end. With
 * sockets held by the service manager, whoever connects after that waits for the next instance.
 */
export class Draining {
  readonly #servers: Server[] = [];
  readonly #answering = new Set<ServerResponse>();
  #begun = false;
  #refusing = false;

  /** Counts the requests of a server, and closes it at the end. Before it listens. */
  watch(server: Server): void {
    this.#servers.push(server);
    // Before the handler, which may send the head of its answer at once.
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

  /** Whether it is too late for a new request. */
  get refusing(): boolean {
    return this.#refusing;
  }

  /** Number of requests that are not fully answered. */
  get unanswered(): number {
    return this.#answering.size;
  }

  /**
   * Returns when every request is answered, or after so many seconds.
   * @returns how many requests were cut off
   */
  async end(withinSeconds: number): Promise<number> {
    this.#begun = true;
    const deadline = performance.now() + withinSeconds * 1000;
    for (const response of this.#answering) if (!response.headersSent) response.setHeader('Connection', 'close');
    await this.#until(async () => this.#left(), performance.now() + Math.min(leaveMs, withinSeconds * 500));
    // What has arrived is read first: closing a connection on a request that is there already would
    // lose it.
    await turn();
    for (const server of this.#servers) server.close();
    await this.#until(async () => this.#left(), performance.now() + Math.min(lastRequestsMs, withinSeconds * 250));
    this.#refusing = true;
    await this.#until(async () => Promise.resolve(this.#answering.size === 0), deadline);
    return this.#answering.size;
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
