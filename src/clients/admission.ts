import type { Caller, Role } from './caller.ts';

/**
 * The client of a request is no longer registered or no longer has the role, so no response may be
 * sent.
 */
export class RegistrationEnded extends Error {
  constructor() {
    super('the client is no longer registered');
    this.name = 'RegistrationEnded';
  }
}

/** The registry, as an admission uses it. */
export interface Registrations {
  /** Whether the data in memory is always current. */
  readonly isAlwaysCurrent: boolean;
  /**
   * Resolves once the data in memory is current; it may be used in the same turn of the event loop.
   */
  upToDate(): Promise<void>;
  /** Whether the caller has the role, according to memory only. */
  holds(caller: Caller, role: Role): boolean;
  entered(admission: Admission): void;
  left(admission: Admission): void;
}

/**
 * One request of a client in progress. If the registration ends, so does the request: registration
 * is checked again when the work begins and right before the response is sent, and revoking a
 * client waits for its admissions to end.
 */
export class Admission {
  readonly caller: Caller;
  readonly role: Role;
  /** Closes the connection, so that nothing more is sent on it. */
  readonly cut: () => void;
  readonly #registrations: Registrations;
  readonly #ended = Promise.withResolvers<void>();
  #isEntered = false;

  constructor(registrations: Registrations, caller: Caller, role: Role, cut: () => void) {
    this.#registrations = registrations;
    this.caller = caller;
    this.role = role;
    this.cut = cut;
  }

  /** Resolves when the work is done and the response is sent. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /**
   * Called before the work; from then on, a revocation waits for it.
   * @throws {RegistrationEnded}
   * @throws {StoreUnavailable}
   */
  async enter(): Promise<void> {
    await this.#registrations.upToDate();
    this.#enter();
  }

  /**
   * As `enter`, unless the state store must be looked at: then it returns false, and does nothing.
   * @throws {RegistrationEnded}
   */
  entersAtOnce(): boolean {
    if (!this.#registrations.isAlwaysCurrent) return false;
    this.#enter();
    return true;
  }

  /**
   * Called before the response is sent, in the same turn of the event loop.
   * @throws {RegistrationEnded}
   * @throws {StoreUnavailable}
   */
  async confirm(): Promise<void> {
    await this.#registrations.upToDate();
    this.#check();
  }

  /**
   * As `confirm`, unless the state store must be looked at: then it returns false.
   * @throws {RegistrationEnded}
   */
  confirmsAtOnce(): boolean {
    if (!this.#registrations.isAlwaysCurrent) return false;
    this.#check();
    return true;
  }

  /** Called when the response is sent, or there is none. */
  leave(): void {
    if (this.#isEntered) this.#registrations.left(this);
    this.#ended.resolve();
  }

  #enter(): void {
    this.#check();
    this.#isEntered = true;
    this.#registrations.entered(this);
  }

  #check(): void {
    if (!this.#registrations.holds(this.caller, this.role)) throw new RegistrationEnded();
  }
}
