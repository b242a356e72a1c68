import type { Caller, Role } from './caller.ts';

/** The client of a request is not registered any more, or lacks the role by now: nothing of what was done for it goes out. */
export class RegistrationEnded extends Error {
  constructor() {
    super('the registration of this client ended');
    this.name = 'RegistrationEnded';
  }
}

/** What an admission asks of the registry. */
export interface Registrations {
  /** Resolves when what is in memory is right; what follows in the same turn of the event loop may go by it. */
  upToDate(): Promise<void>;
  /** By memory alone. */
  holds(caller: Caller, role: Role): boolean;
  entered(admission: Admission): void;
  left(admission: Admission): void;
}

/**
 * One request of a client on its way. A registration that ends while a request runs ends that request too: it is checked again when the work
 * begins and right before an answer goes out, and who revokes a client waits for the end of its admissions.
 */
export class Admission {
  readonly caller: Caller;
  readonly role: Role;
  /** Ends the connection: nothing more goes out on it. */
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

  /** Resolves when the work is over and its answer is out. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Before the work: from now on a revocation waits for it. @throws {RegistrationEnded} @throws {StoreUnavailable} */
  async enter(): Promise<void> {
    await this.#registrations.upToDate();
    this.#check();
    this.#isEntered = true;
    this.#registrations.entered(this);
  }

  /** Before anything of the work goes out, in the same turn of the event loop. @throws {RegistrationEnded} @throws {StoreUnavailable} */
  async confirm(): Promise<void> {
    await this.#registrations.upToDate();
    this.#check();
  }

  /** The answer is out, or there is none. */
  leave(): void {
    if (this.#isEntered) this.#registrations.left(this);
    this.#ended.resolve();
  }

  #check(): void {
    if (!this.#registrations.holds(this.caller, this.role)) throw new RegistrationEnded();
  }
}
