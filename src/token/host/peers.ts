import type { Socket } from 'node:net';
import { userNumber } from '../../service/native.ts';
import { peerUser } from '../../service/peer-user.ts';
import { ConfigError } from '../../config/config-error.ts';
import type { TokenConfig } from '../../config/token-config.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';

const root = 0;

/** Users that may use the token. */
export interface Peers {
  /** Uid of the only user that is served, apart from root. */
  readonly user: number;
  readonly socketMode: 0o600 | 0o660;
}

/**
 * Returns the daemon's user. If it is the host's own, only it may open the sockets; another user
 * gets access through the host's group, and is checked again on each connection.
 * @throws {ConfigError}
 */
export function peersOf({ clientUser }: TokenConfig, ownUser: number): Peers {
  try {
    const user = clientUser === undefined ? ownUser : userNumber(clientUser);
    return { user, socketMode: user === ownUser ? 0o600 : 0o660 };
  } catch (error) {
    throw new ConfigError(`token.clientUser: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Whether the peer, as reported by the kernel (SO_PEERCRED), may use the token. If not, the
 * connection is closed before anything is read. Root is admitted, since nothing here could keep it
 * out: signetctl runs as root.
 */
export function admits(socket: Socket, { user }: Peers, refused: (peer: number | undefined) => void): boolean {
  const peer = peerUser(socket);
  if (peer === user || peer === root) return true;
  socket.destroy();
  refused(peer);
  return false;
}

const silenceMs = 60_000;
/** There are few in practice: each is a user of the machine. */
const usersMax = 1000;

/** Logs refused users, each at most once a minute, with the number of refusals since. */
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
    const more = known === undefined || known.since === 0 ? '' : `; ${known.since} more since the last message`;
    this.#say(`refused a connection from ${who}: only the daemon's user (token.clientUser) and root may use the token${more}`);
  }
}
