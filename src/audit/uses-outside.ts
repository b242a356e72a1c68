import { randomUUID } from 'node:crypto';
import type { GroupWriter } from './group-writer.ts';

/** Uses of the token outside of any request or command, which get records of their own soon after. */
export class UsesOutside {
  readonly #writer: GroupWriter;
  #waiting: string[] = [];

  constructor(writer: GroupWriter) {
    this.#writer = writer;
  }

  /** The uses that have no record yet. */
  get waiting(): readonly string[] {
    return this.#waiting;
  }

  add(use: string): void {
    // The uses of one turn of the event loop make one record.
    if (this.#waiting.length === 0) setImmediate(() => void this.write());
    this.#waiting.push(use);
  }

  /** Writes a record of those that wait; if it cannot be written now, they wait on. */
  async write(): Promise<void> {
    const uses = this.#waiting;
    if (uses.length === 0) return;
    this.#waiting = [];
    const entry = { kind: 'administration' as const, request: randomUUID(), command: 'sign for an authority', uses };
    await this.#writer.append(entry).catch(() => {
      this.#waiting = [...uses, ...this.#waiting];
    });
  }
}
