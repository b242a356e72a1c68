/** Holds back the next that passes it, until it is opened. */
export class Gate {
  #arrived = Promise.withResolvers<undefined>();
  #opened = Promise.withResolvers<undefined>();
  #isClosed = false;

  close(): void {
    this.#arrived = Promise.withResolvers<undefined>();
    this.#opened = Promise.withResolvers<undefined>();
    this.#isClosed = true;
  }

  /** Resolves when something waits. */
  get arrived(): Promise<unknown> {
    return this.#arrived.promise;
  }

  open(): void {
    this.#isClosed = false;
    this.#opened.resolve(undefined);
  }

  async pass(): Promise<void> {
    if (!this.#isClosed) return;
    this.#isClosed = false;
    this.#arrived.resolve(undefined);
    await this.#opened.promise;
  }
}
