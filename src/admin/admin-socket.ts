import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { AdminConfig } from '../config/listeners-config.ts';
import { JsonError } from '../http/json/json-scanner.ts';
import { parseStrictJson } from '../http/json/strict-json.ts';
import { groupNumber } from '../service/native.ts';
import { peerUser } from '../service/peer-user.ts';
import { listenAtPath, permissionsFor } from '../service/unix-socket.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { WaitingPeer } from './approvals.ts';
import { adminProtocol, AdminRequest, requestMaxBytes, type AdminAnswer } from './protocol.ts';

const requestSeconds = 10;
/** How long a peer may take to read its answer. */
const answerSeconds = 10;
const adminMembers = { path: 'admin.socketPath', group: 'admin.group' };

/** Executes a command for a local user. It always answers. */
export type RunCommand = (request: AdminRequest, uid: number, peer: WaitingPeer) => Promise<AdminAnswer>;

/** Where a socket is, and who may open it. */
interface SocketAccess extends Pick<AdminConfig, 'socketPath' | 'access' | 'group'> {
  /** Names of the path and the group in the configuration, for messages. */
  readonly members?: { readonly path: string; readonly group: string };
}

/**
 * The socket for the machine's operators: the kernel decides who may open it, and the audit log
 * records who did.
 */
export class AdminSocket {
  readonly #path: string;
  readonly #server: Server;
  /** Connections that have not sent their command yet. */
  readonly #waiting: ReadonlySet<Socket>;
  #closing: Promise<void> | undefined;

  private constructor(path: string, server: Server, waiting: ReadonlySet<Socket>) {
    this.#path = path;
    this.#server = server;
    this.#waiting = waiting;
  }

  /** @throws {Error} if another service listens there, or the socket cannot be created */
  static async open(access: SocketAccess, log: Logger, run: RunCommand): Promise<AdminSocket> {
    const { socketPath, members = adminMembers } = access;
    const admitted = admittedGroup(access, members.group);
    const connections = new Connections(process.getuid?.() ?? 0);
    const waiting = new Set<Socket>();
    const server = createServer((socket) => {
      serve(socket, { connections, waiting, run }).catch((error: unknown) => {
        log.error('a connection to the admin socket failed', { reason: reasonOf(error) });
        socket.destroy();
      });
    });
    try {
      await listenAtPath(server, socketPath, permissionsFor(admitted));
    } catch (error) {
      throw new Error(`${members.path}: ${reasonOf(error)}`, { cause: error });
    }
    return new AdminSocket(socketPath, server, waiting);
  }

  /** Completes the running commands and closes the socket. */
  async close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
      for (const socket of this.#waiting) socket.destroy();
    });
    rmSync(this.#path, { force: true });
  }
}

/**
 * Returns the group whose members may use the socket; undefined if there is none.
 * @throws {Error} if the machine has no such group
 */
export function admittedGroup({ access, group }: Pick<AdminConfig, 'access' | 'group'>, member = adminMembers.group): number | undefined {
  try {
    return access === 'group' ? groupNumber(group) : undefined;
  } catch (error) {
    throw new Error(`${member}: ${reasonOf(error)}`, { cause: error });
  }
}

interface Serving {
  readonly connections: Connections;
  readonly waiting: Set<Socket>;
  readonly run: RunCommand;
}

async function serve(socket: Socket, { connections, waiting, run }: Serving): Promise<void> {
  socket.on('error', () => socket.destroy());
  const user = peerUser(socket);
  if (user === undefined) {
    socket.destroy();
    return;
  }
  socket.write(`${JSON.stringify({ protocol: adminProtocol })}\n`);
  if (!connections.take(user)) {
    answer(socket, refused('too many connections of this user; try again in a moment'));
    return;
  }
  socket.once('close', () => {
    connections.release(user);
  });
  waiting.add(socket);
  const line = await requestLine(socket).finally(() => waiting.delete(socket));
  if (line === undefined) socket.destroy();
  else answer(socket, await answerTo(line, user, async (request, uid) => run(request, uid, peerOf(socket))));
}

/** The peer of a command that waits: it withdraws the command by closing the connection. */
function peerOf(socket: Socket): WaitingPeer {
  const gone = new AbortController();
  if (socket.destroyed) gone.abort();
  socket.once('close', () => {
    gone.abort();
  });
  // Its end is not seen otherwise.
  socket.resume();
  return {
    gone: gone.signal,
    tell: (line) => {
      socket.write(`${JSON.stringify(line)}\n`);
    },
  };
}

/**
 * Sends the answer and closes the connection, whether or not the peer closes it, and whether or not it
 * reads: the service does not end before its connections.
 */
function answer(socket: Socket, text: AdminAnswer): void {
  if (socket.destroyed) return;
  const timer = setTimeout(() => socket.destroy(), answerSeconds * 1000);
  socket.once('close', () => {
    clearTimeout(timer);
  });
  socket.end(`${JSON.stringify(text)}\n`, () => socket.destroy());
}

/** More values than any command has. */
const maxCommandValues = 10_000;

async function answerTo(
  line: Buffer,
  uid: number,
  run: (request: AdminRequest, uid: number) => Promise<AdminAnswer>,
): Promise<AdminAnswer> {
  let request: AdminRequest;
  try {
    const parsed = AdminRequest.safeParse(parseStrictJson(line, { valuesMax: maxCommandValues }));
    if (!parsed.success) {
      return { outcome: 'refused', faults: parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'command'}: ${message}`) };
    }
    request = parsed.data;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return refused(error.message);
  }
  return run(request, uid);
}

function refused(fault: string): AdminAnswer {
  return { outcome: 'refused', faults: [fault] };
}

/**
 * Returns the bytes up to the first line feed; undefined if they are late, too many, or followed by
 * more.
 */
async function requestLine(socket: Socket): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    let bytes = Buffer.alloc(0);
    const timer = setTimeout(() => {
      end(undefined);
    }, requestSeconds * 1000);
    const end = (line: Buffer | undefined): void => {
      clearTimeout(timer);
      socket.removeAllListeners('data');
      resolve(line);
    };
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const feed = bytes.indexOf(0x0a);
      if (feed >= 0) end(feed === bytes.length - 1 ? bytes.subarray(0, feed) : undefined);
      else if (bytes.length > requestMaxBytes) end(undefined);
    });
    socket.once('close', () => {
      end(undefined);
    });
  });
}

/**
 * Maximum number of connections of one user, and of all users together except root and the
 * service's user. Commands are short.
 */
const perUserMax = 8;
const othersMax = 64;

/** Counts connections by user, so that idle ones cannot keep other users out. */
export class Connections {
  readonly #ownUser: number;
  readonly #byUser = new Map<number, number>();

  constructor(ownUser: number) {
    this.#ownUser = ownUser;
  }

  /** Returns false if the user has reached the maximum. */
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
