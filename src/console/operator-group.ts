import { native } from '../service/native.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';

const lookUpMs = 60_000;

/** Finds the groups of a user; undefined if there is no such user. */
export type GroupsOf = (uid: number) => Promise<readonly number[] | undefined>;

interface Known {
  readonly atMs: number;
  readonly admits: Promise<boolean>;
}

/**
 * Tells whether an operator is still in the group that may use the admin socket, since a session of
 * the console outlasts the command that began it. Each user is looked up at most once a minute.
 */
export class OperatorGroup {
  readonly #group: number | undefined;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #groupsOf: GroupsOf;
  readonly #now: () => number;
  readonly #users = new Map<number, Known>();
  /** Users that the machine has had an account for. */
  readonly #accounts = new Set<number>();

  /** @param group undefined: only root and the user of the service may use the socket */
  constructor(
    group: number | undefined,
    log: Pick<Logger, 'warn'>,
    groupsOf: GroupsOf = async (uid) => native().groupsOf(uid),
    now: () => number = () => performance.now(),
  ) {
    this.#group = group;
    this.#log = log;
    this.#groupsOf = groupsOf;
    this.#now = now;
  }

  /**
   * Root and the user of the service need no group. If the groups cannot be found, the last answer
   * holds, and so it does for a user who never had an account here: the kernel has admitted them.
   */
  async admits(uid: number): Promise<boolean> {
    if (this.#group === undefined || uid === 0 || uid === process.getuid?.()) return true;
    const known = this.#users.get(uid);
    if (known !== undefined && this.#now() - known.atMs < lookUpMs) return known.admits;
    const admits = this.#lookUp(uid, this.#group, known);
    this.#users.set(uid, { atMs: this.#now(), admits });
    return admits;
  }

  async #lookUp(uid: number, group: number, before: Known | undefined): Promise<boolean> {
    try {
      const groups = await this.#groupsOf(uid);
      if (groups === undefined) return !this.#accounts.has(uid);
      this.#accounts.add(uid);
      return groups.includes(group);
    } catch (error) {
      this.#log.warn('the groups of an operator of the console cannot be found', { uid, reason: reasonOf(error) });
      return (await before?.admits) ?? true;
    }
  }
}
