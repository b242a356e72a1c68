/** Calls a function in the next turn of the event loop, however often it is asked to before. */
export class EachTurn {
  readonly #begin: () => void;
  #isScheduled = false;

  constructor(begin: () => void) {
    this.#begin = begin;
  }

  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#begin();
    });
  }
}
