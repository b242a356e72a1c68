/** Connections that one user may have at a time, and all but root and the user of the service together. Commands are short. */
const perUserMax = 8;
const othersMax = 64;

/** Who has how many connections: those that say nothing keep nobody else out. */
export class Connections {
  readonly #ownUser: number;
  readonly #byUser = new Map<number, number>();

  constructor(ownUser: number) {
    this.#ownUser = ownUser;
  }

  /** False where the user has as many as may be. */
  take(user: number): boolean {
    const open = this.#byUser.get(user) ?? 0;
    if (open >= perUserMax || (this.#isOther(user) && this.#others() >= othersMax)) return false;
    this.#byUser.set(user, open + 1);
    return true;
  }

  release(user: number): void {
    const left = (this.#byUser.get(user) ?? 0) - 1;
    if (left > 0) this.#byUser.set(user, left);
    else this.#byUser.delete(user);
  }

  #isOther(user: number): boolean {
    return user !== 0 && user !== this.#ownUser;
  }

  #others(): number {
    return [...this.#byUser].reduce((sum, [user, open]) => sum + (this.#isOther(user) ? open : 0), 0);
  }
}
