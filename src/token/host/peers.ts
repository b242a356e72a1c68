import type { Socket } from 'node:net';
import { userNumber } from '../../service/accounts.ts';
import { peerUser } from '../../service/peer-user.ts';
import { ConfigError } from '../../config/config.ts';
import type { TokenConfig } from '../../config/token-config.ts';

const root = 0;

/** Who may use the token. */
export interface Peers {
  /** Number of the one user that is served, root apart. */
  readonly user: number;
  readonly socketMode: 0o600 | 0o660;
}

/**
 * The daemon's user. Where that is the host's own, the sockets are for it alone; another one comes in by the group of the host, and is looked at again at each
 * connection. @throws {ConfigError}
 */
export function peersOf({ clientUser }: TokenConfig, ownUser: number): Peers {
  try {
    const user = clientUser === undefined ? ownUser : userNumber(clientUser);
    return { user, socketMode: user === ownUser ? 0o600 : 0o660 };
  } catch (error) {
    throw new ConfigError(`token.clientUser: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/**
 * Whether the user at the other end, as the kernel tells it (SO_PEERCRED), may use the token; another one's connection is ended before anything of it is read.
 * Root is let in, as nothing here could keep it out: signetctl runs as root.
 */
export function admits(socket: Socket, { user }: Peers, refused: (peer: number | undefined) => void): boolean {
  const peer = peerUser(socket);
  if (peer === user || peer === root) return true;
  socket.destroy();
  refused(peer);
  return false;
}

const silenceMs = 60_000;
/** There are never many: each is a user of the machine. */
const usersMax = 1000;

/** Says of each user once a minute at most that it was refused, and how often since. */
export class RefusedPeers {
  readonly #say: (message: string) => void;
  readonly #users = new Map<string, { saidAtMs: number; since: number }>();

  constructor(say: (message: string) => void) {
    this.#say = say;
  }

  refused(peer: number | undefined): void {
    const who = peer === undefined ? 'an unknown user' : `user ${peer}`;
    const nowMs = performance.now();
    const known = this.#users.get(who);
    if (known !== undefined && nowMs - known.saidAtMs < silenceMs) {
      known.since += 1;
      return;
    }
    if (this.#users.size >= usersMax) this.#users.clear();
    this.#users.set(who, { saidAtMs: nowMs, since: 0 });
    const more = known === undefined || known.since === 0 ? '' : `; ${known.since} more since it was last said`;
    this.#say(`a connection of ${who} is refused: the token is for the user of the daemon (token.clientUser) and root${more}`);
  }
}
