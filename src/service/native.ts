import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** What `native/service-manager.c` exports. */
interface Native {
  /**
   * Sends a datagram of at most 4,095 bytes to a Unix socket; `@` begins an abstract name.
   * @throws {Error} if it is not taken within 0.5 s
   */
  send(path: string, message: string): void;
  /** Keeps a file descriptor from the children of this process. @throws {Error} if it is none */
  closeOnExec(fd: number): void;
  /**
   * Number of the user who connected a Unix socket, as the kernel saw it then.
   * @throws {Error} if it is no such socket
   */
  peerUser(fd: number): number;
  /**
   * Number of the user of a name; undefined if there is none.
   * @throws {Error} if nobody can tell
   */
  userNumber(name: string): number | undefined;
  /**
   * Number of the group of a name; undefined if there is none.
   * @throws {Error} if nobody can tell
   */
  groupNumber(name: string): number | undefined;
  /**
   * The bound that the kernel has for the error of its clock; -1 where nothing synchronises it.
   * @throws {Error} if the kernel may not be asked
   */
  clockErrorMicroseconds(): number;
  /**
   * Tells the garbage collector of this thread of memory that it does not count by itself; negative
   * where it is gone.
   */
  adjustExternalMemory(bytes: number): void;
}

/** Built by packaging/bootstrap.sh. */
const file = fileURLToPath(new URL('../../dist/service-manager.node', import.meta.url));
let loaded: Native | undefined;

/**
 * Loaded when first needed; big memory comes from the kernel from then on.
 * @throws {Error} if it is not built
 */
export function native(): Native {
  // A native module has no types of its own: the C source beside it is what this interface says.
  loaded ??= createRequire(import.meta.url)(file) as Native;
  return loaded;
}
