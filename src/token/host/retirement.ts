import type { Server, Socket } from 'node:net';
import type { Farewell } from './greeting.ts';

/**
 * Orderly shutdown of a host: it accepts no new connections, notifies its clients, continues to
 * serve them, and ends when they have disconnected or the grace period is over. Its supervisor
 * starts the next one.
 */
export class Retirement {
  readonly #callStarts: Int32Array;
  readonly #peers = new Set<Socket>();
  #begun = false;
  /** The socket that greets. */
  listener: Server | undefined;

  constructor(callStarts: Int32Array) {
    this.#callStarts = callStarts;
  }

  /**
   * Adds a connection to the greeting socket: as long as there is one, a client may be waiting for
   * answers.
   */
  peer(socket: Socket): void {
    this.#peers.add(socket);
    socket.on('close', () => {
      this.#peers.delete(socket);
      if (this.#begun && this.#peers.size === 0) this.#end();
    });
    socket.resume();
  }

  begin(reason: string, graceMs: number): void {
    if (this.#begun) return;
    this.#begun = true;
    this.listener?.close();
    for (const socket of this.#peers) socket.write(`${JSON.stringify({ draining: reason } satisfies Farewell)}\n`);
    setTimeout(() => {
      this.#end();
    }, graceMs);
    if (this.#peers.size === 0) this.#end();
  }

  #end(): void {
    // An exit waits for the threads, and one that is inside a call of the module may never return.
    const busy = this.#callStarts.some((_, index) => Atomics.load(this.#callStarts, index) !== 0);
    if (busy) process.kill(process.pid, 'SIGKILL');
    else process.exit(0);
  }
}
