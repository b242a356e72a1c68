import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** The exports of `native/service-manager.c`. */
interface Native {
  /**
   * Sends a datagram of at most 4,095 bytes to a Unix socket; a leading `@` means an abstract name.
   * @throws {Error} if it is not accepted within 0.5 s
   */
  send(path: string, message: string): void;
  /** Sets close-on-exec on a file descriptor. @throws {Error} if it is not one */
  closeOnExec(fd: number): void;
  /**
   * Returns the uid of the process that connected to a Unix socket, as the kernel recorded it then.
   * @throws {Error} if it is not such a socket
   */
  peerUser(fd: number): number;
  /**
   * Returns two numbers of a TCP connection: the bytes that the peer has acknowledged, and those
   * that the kernel still holds for it.
   * @throws {Error} if it is not such a connection
   */
  sentBytes(fd: number): readonly [acknowledged: number, held: number];
  /**
   * Returns the uid of a user; undefined if there is none.
   * @throws {Error} if it cannot be determined
   */
  userNumber(name: string): number | undefined;
  /**
   * Returns the gid of a group; undefined if there is none.
   * @throws {Error} if it cannot be determined
   */
  groupNumber(name: string): number | undefined;
  /**
   * Returns the gids of a user, the user's own group first; undefined if there is no such user.
   * @throws {Error} if they cannot be determined
   */
  groupsOf(uid: number): Promise<readonly number[] | undefined>;
  /**
   * From now on, this thread writes and creates files as another user; it reads what it could
   * before. Threads that it starts inherit this. Only for root.
   * @throws {Error} if it is refused
   */
  accessFilesAs(uid: number, gid: number, groups: readonly number[]): void;
  /**
   * From now on, this thread acts as another user, as whom the peers of Unix sockets that it connects
   * meanwhile see it; with 0 as root again. Only for root.
   * @throws {Error} if it is refused
   */
  actAs(uid: number): void;
  /**
   * Returns the kernel's bound on the error of its clock; -1 if the clock is not synchronised.
   * @throws {Error} if the kernel may not be asked
   */
  clockErrorMicroseconds(): number;
  /**
   * Reports memory to the garbage collector of this thread that it does not count by itself;
   * negative when it is freed.
   */
  adjustExternalMemory(bytes: number): void;
  /**
   * From now on, no other process without privileges reads this one's memory or traces it, no core
   * dump is made of it, and SIGUSR1 is ignored.
   * @throws {Error} if the kernel refuses
   */
  guardMemory(): void;
  /** Returns the free pages of the C library's heaps to the kernel. */
  releaseFreeMemory(): void;
}

/** Built by packaging/bootstrap.sh. */
const file = fileURLToPath(new URL('../../dist/service-manager.node', import.meta.url));
let loaded: Native | undefined;

/**
 * Loads the native module on first use; from then on, large allocations come directly from the
 * kernel.
 * @throws {Error} if it is not built
 */
export function native(): Native {
  // A native module has no types of its own; this interface describes the C source.
  loaded ??= createRequire(import.meta.url)(file) as Native;
  return loaded;
}

/** Returns a socket's descriptor, which Node only exposes on its internal handle. */
export function descriptorOf(socket: Socket): number | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  const fd: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}

/** Returns the uid of a user. @throws {Error} if there is no user of this name */
export function userNumber(account: string | number): number {
  return typeof account === 'number' ? account : found(native().userNumber(account), `there is no user "${account}"`);
}

/** Returns the gid of a group. @throws {Error} if there is no group of this name */
export function groupNumber(account: string | number): number {
  return typeof account === 'number' ? account : found(native().groupNumber(account), `there is no group "${account}"`);
}

function found(number: number | undefined, otherwise: string): number {
  if (number === undefined) throw new Error(otherwise);
  return number;
}
