import { createHash, randomInt } from 'node:crypto';
import { randomUUID } from 'node:crypto';
import type { AdministrationEntry, ApprovalDetails } from '../audit/record.ts';
import { CommandRefused, NotApproved, type AdminWaiting } from './protocol.ts';
import type { PendingView } from './views.ts';

/** Requests that may wait at a time. */
const pendingMax = 32;
/** Without digits and letters that look alike. */
const idLetters = 'abcdefghjkmnpqrstuvwxyz23456789';
const idLength = 8;

/** A command that must not be carried out before another user has approved it. */
export interface Asked {
  readonly command: string;
  /** The user who gave it. */
  readonly uid: number;
  /** The command and its parameters in words, as the approver sees them: label and value. */
  readonly details: readonly (readonly [string, string])[];
  /** Further members of its records. */
  readonly subject?: Partial<AdministrationEntry>;
}

/** The connection of a command that waits. */
export interface WaitingPeer {
  /** Aborted once the peer has closed the connection. */
  readonly gone: AbortSignal;
  /** Tells the peer that its command waits. */
  tell(line: AdminWaiting): void;
}

export interface ApprovalOptions {
  readonly minutes: number;
  /** Name of the group whose members approve, for messages. */
  readonly approvers: string;
  /** Whether the user is in that group now. */
  mayApprove(uid: number): Promise<boolean>;
  /** Writes a record. @throws if it cannot be written */
  record(entry: AdministrationEntry): Promise<void>;
}

interface Pending {
  readonly id: string;
  /** SHA-256 over the request as it is shown, hexadecimal. */
  readonly digest: string;
  readonly asked: Asked;
  readonly since: Date;
  readonly until: Date;
  /** Somebody's decision is being recorded. */
  isDeciding: boolean;
  readonly end: (result: Error | ApprovalDetails) => void;
}

/**
 * Holds commands back until a user of the approvers' group has approved each (docs/four-eyes.md). A
 * command is held as it was parsed, so what is approved is what is done. Nothing survives the
 * process.
 */
export class Approvals {
  readonly #options: ApprovalOptions;
  readonly #pending = new Map<string, Pending>();
  #isStopped = false;

  constructor(options: ApprovalOptions) {
    this.#options = options;
  }

  /**
   * Waits until the command is approved.
   * @throws {NotApproved} if it is refused, not approved in time, or withdrawn
   * @throws {CommandRefused} if too many wait already
   */
  async ask(asked: Asked, peer: WaitingPeer): Promise<ApprovalDetails> {
    if (this.#isStopped) throw new NotApproved('signetd is stopping');
    if (this.#pending.size >= pendingMax) throw new CommandRefused(`${pendingMax} commands wait for approval already`);
    const waitMs = this.#options.minutes * 60_000;
    const ended = Promise.withResolvers<ApprovalDetails>();
    const pending: Pending = {
      ...newId(this.#pending, asked),
      ...{ asked, since: new Date(), until: new Date(Date.now() + waitMs), isDeciding: false },
      end: (result) => {
        if (result instanceof Error) ended.reject(result);
        else ended.resolve(result);
      },
    };
    const { id, digest, until } = pending;
    // Reserved before the record is awaited, so that the limit holds.
    this.#pending.set(id, pending);
    ended.promise.catch(() => undefined);
    const withdraw = (): void => {
      void this.#close(pending, 'approval withdrawn', new NotApproved(`request ${id} is withdrawn`));
    };
    const timer = setTimeout(() => {
      const text = `nobody approved request ${id} within ${this.#options.minutes} minutes; nothing was done`;
      // A decision that is being recorded came in time.
      if (!pending.isDeciding) void this.#close(pending, 'approval expired', new NotApproved(text));
    }, waitMs);
    try {
      await this.#record('approval request', pending);
      if (peer.gone.aborted) withdraw();
      else peer.gone.addEventListener('abort', withdraw, { once: true });
      peer.tell({ outcome: 'waiting', id, digest, until: until.toISOString(), approvers: this.#options.approvers });
      return await ended.promise;
    } finally {
      clearTimeout(timer);
      peer.gone.removeEventListener('abort', withdraw);
      this.#pending.delete(id);
    }
  }

  /** The commands that wait, the first one first. */
  list(): PendingView[] {
    return [...this.#pending.values()].map(viewOf);
  }

  /**
   * Approves a command, once.
   * @param digest of the request as the approver saw it
   * @throws {CommandRefused}
   */
  async approve(id: string, digest: string, uid: number): Promise<PendingView> {
    const pending = await this.#decidable(id, digest, uid);
    const approval = { ...detailsOf(pending), approved: uid };
    await this.#decide(pending, async () => this.#record('approve', pending, uid, approval), approval);
    return viewOf(pending);
  }

  /** Refuses a command. @throws {CommandRefused} */
  async refuse(id: string, digest: string, uid: number): Promise<PendingView> {
    const pending = await this.#decidable(id, digest, uid);
    const refused = new NotApproved(`user ${uid} refused request ${id}; nothing was done`);
    await this.#decide(pending, async () => this.#record('refuse', pending, uid), refused);
    return viewOf(pending);
  }

  /** Ends what waits: the service stops. */
  stop(): void {
    this.#isStopped = true;
    for (const pending of this.#pending.values()) {
      void this.#close(pending, 'approval withdrawn', new NotApproved(`signetd is stopping; request ${pending.id} is forgotten`));
    }
  }

  async #decidable(id: string, digest: string, uid: number): Promise<Pending> {
    const pending = this.#pending.get(id);
    if (pending === undefined) throw new CommandRefused(`no request ${id} waits for approval; see signetctl approvals`);
    if (pending.asked.uid === uid) throw new CommandRefused(`user ${uid} asked for ${id}: another user must decide`);
    if (uid !== 0 && !(await this.#options.mayApprove(uid)))
      throw new CommandRefused(`user ${uid} is not in the group ${this.#options.approvers} (admin.approvers)`);
    if (pending.digest !== digest) throw new CommandRefused(`request ${id} has another digest; see signetctl approvals`);
    return pending;
  }

  /** The first of several decisions counts. */
  async #decide(pending: Pending, record: () => Promise<void>, result: Error | ApprovalDetails): Promise<void> {
    const { id } = pending;
    if (this.#pending.get(id) !== pending || pending.isDeciding)
      throw new CommandRefused(`request ${id} has been decided or withdrawn meanwhile`);
    pending.isDeciding = true;
    try {
      await record();
    } catch (error) {
      pending.isDeciding = false;
      if (Date.now() >= pending.until.getTime()) pending.end(new NotApproved(`request ${id} could not be decided in time`));
      throw error;
    }
    if (!this.#pending.delete(id)) throw new CommandRefused(`request ${id} was withdrawn meanwhile; nothing is done`);
    pending.end(result);
  }

  async #close(pending: Pending, what: string, reason: Error): Promise<void> {
    if (!this.#pending.delete(pending.id)) return;
    // The command ends even if the disk takes no record.
    await this.#record(what, pending).catch(() => undefined);
    pending.end(reason);
  }

  async #record(command: string, pending: Pending, uid = pending.asked.uid, approval: ApprovalDetails = detailsOf(pending)): Promise<void> {
    await this.#options.record({ kind: 'administration', request: randomUUID(), uid, command, ...pending.asked.subject, approval });
  }
}

function detailsOf({ id, digest, asked: { command, uid } }: Pending): ApprovalDetails {
  return { id, command, digest, asked: uid };
}

function viewOf({ id, digest, asked, since, until }: Pending): PendingView {
  const { command, uid, details } = asked;
  return {
    ...{ id, command, uid, digest, since: since.toISOString(), until: until.toISOString() },
    details: details.map(([label, value]) => [label, value]),
  };
}

function newId(taken: ReadonlyMap<string, unknown>, { command, uid, details }: Asked): { readonly id: string; readonly digest: string } {
  for (;;) {
    const id = Array.from({ length: idLength }, () => idLetters[randomInt(idLetters.length)]).join('');
    const shown = JSON.stringify([id, uid, command, details]);
    if (!taken.has(id)) return { id, digest: createHash('sha256').update(shown).digest('hex') };
  }
}
