import { createHash, randomBytes } from 'node:crypto';

const linkMs = 2 * 60_000;
const sessionMs = 8 * 3600_000;
/** Reads of a session within this time have one record: a page may be refreshed every few seconds. */
const viewMs = 10 * 60_000;
/** Of sessions, and of codes: a further one of a user replaces their oldest. */
const heldMaxPerUser = 8;

/** A signed-in operator. */
export interface Operator {
  readonly uid: number;
  /** Milliseconds since epoch. */
  readonly endsAt: number;
}

/** What an operator reads without a command of signetctl. */
export type View = 'audit' | 'configuration';

interface Session extends Operator {
  readonly tokenHash: string;
  /** When a view was recorded last, milliseconds since epoch. */
  readonly recordedAt: Map<View, number>;
}

/** What a browser needs to be signed in: both parts, always. */
export interface Credentials {
  /** In a cookie, which scripts cannot read. */
  readonly session: string;
  /**
   * In the memory of the page, since a browser sends the cookie to every port of a host, but shows
   * the page's memory only to pages of the same port.
   */
  readonly token: string;
}

/**
 * Operators who are signed in to the console. The admin socket, which knows the user from the
 * kernel, gives out a code that signs in once. All of it is in memory, as hashes: a restart signs
 * everybody out.
 */
export class SignIns {
  readonly #now: () => number;
  /** Hash of a code to its user, oldest first. */
  readonly #codes = new Map<string, Operator>();
  /** Hash of a session to the session, oldest first. */
  readonly #sessions = new Map<string, Session>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Makes a code that signs a user in, once and soon. */
  code(uid: number): { readonly code: string; readonly endsAt: number } {
    this.#makeRoom(this.#codes, uid);
    const code = drawn();
    const endsAt = this.#now() + linkMs;
    this.#codes.set(hashed(code), { uid, endsAt });
    return { code, endsAt };
  }

  /** Uses a code up. Returns undefined if it is unknown, used or too old. */
  signIn(code: string): (Credentials & { readonly operator: Operator }) | undefined {
    const hash = hashed(code);
    const held = this.#codes.get(hash);
    this.#codes.delete(hash);
    if (held === undefined || held.endsAt <= this.#now()) return undefined;
    this.#makeRoom(this.#sessions, held.uid);
    const credentials = { session: drawn(), token: drawn() };
    const operator = { uid: held.uid, endsAt: this.#now() + sessionMs };
    this.#sessions.set(hashed(credentials.session), { ...operator, tokenHash: hashed(credentials.token), recordedAt: new Map() });
    return { ...credentials, operator };
  }

  /** Returns who is signed in with these; undefined if nobody is, or no longer. */
  operator({ session, token }: Credentials): Operator | undefined {
    const hash = hashed(session);
    const found = this.#sessions.get(hash);
    if (found === undefined || found.tokenHash !== hashed(token)) return undefined;
    if (found.endsAt > this.#now()) return { uid: found.uid, endsAt: found.endsAt };
    this.#sessions.delete(hash);
    return undefined;
  }

  /** Whether a read by this session needs a record: no earlier one is recent. */
  isRecordDue({ session }: Credentials, view: View): boolean {
    const last = this.#sessions.get(hashed(session))?.recordedAt.get(view);
    return last === undefined || this.#now() - last >= viewMs;
  }

  /** Notes that a read by this session has its record. */
  recorded({ session }: Credentials, view: View): void {
    this.#sessions.get(hashed(session))?.recordedAt.set(view, this.#now());
  }

  signOut(credentials: Credentials): void {
    if (this.operator(credentials) !== undefined) this.#sessions.delete(hashed(credentials.session));
  }

  /** Ends all sessions of a user, and removes their code. Returns whether there was a session. */
  end(uid: number): boolean {
    for (const [hash, held] of this.#codes) if (held.uid === uid) this.#codes.delete(hash);
    const own = [...this.#sessions].filter(([, session]) => session.uid === uid);
    for (const [hash] of own) this.#sessions.delete(hash);
    return own.length > 0;
  }

  #makeRoom(held: Map<string, Operator>, uid: number): void {
    for (const [hash, { endsAt }] of held) if (endsAt <= this.#now()) held.delete(hash);
    const own = [...held].filter(([, operator]) => operator.uid === uid);
    for (const [hash] of own.slice(0, Math.max(0, own.length - heldMaxPerUser + 1))) held.delete(hash);
  }
}

/** 256 random bits. */
function drawn(): string {
  return randomBytes(32).toString('base64url');
}

/** Only hashes are kept and compared, so that the time of a comparison tells nothing. */
function hashed(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
