import { createConnection, type Socket } from 'node:net';
import { z } from 'zod';
import { AdminAnswer, AdminGreeting, adminProtocol, AdminWaiting, type AdminRequest } from './protocol.ts';

/** A revocation may wait for running requests, a reload for the token. */
const answerSeconds = 90;
/** Enough for a page of keys with the longest names. */
const answerMaxBytes = 16 * 1024 * 1024;

const signals = ['SIGINT', 'SIGTERM'] as const;

/** No process listens on the socket: the service is not running. */
export class NotRunning extends Error {}

/** The service cannot be reached, although it may be running. */
export class AdminFailure extends Error {}

/** SIGINT or SIGTERM came while a command waited for its approval: it is withdrawn. */
export class Interrupted extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super('interrupted: the request for approval is withdrawn, and nothing was done');
    this.signal = signal;
  }
}

/**
 * Sends a request to the running service.
 * @param onWaiting told if the command waits for an approval
 * @throws {NotRunning}
 * @throws {AdminFailure}
 * @throws {Interrupted} while it waits
 */
export async function askService(
  socketPath: string,
  request: AdminRequest,
  onWaiting: (waiting: AdminWaiting) => void = () => undefined,
): Promise<AdminAnswer> {
  const socket = await connected(socketPath);
  try {
    const lines = linesOf(socket);
    const { protocol } = parsed(AdminGreeting, await lines.next());
    if (protocol !== adminProtocol) throw otherVersion();
    socket.write(`${JSON.stringify(request)}\n`);
    const first = parsed(z.union([AdminWaiting, AdminAnswer]), await lines.next());
    if (first.outcome !== 'waiting') return first;
    onWaiting(first);
    socket.setTimeout(0);
    return parsed(AdminAnswer, await whileInterruptible(async () => lines.next(), socket));
  } finally {
    socket.destroy();
  }
}

/** Closes the connection at a signal, so that the command can clean up after itself. */
async function whileInterruptible<T>(work: () => Promise<T>, socket: Socket): Promise<T> {
  const interrupted = Promise.withResolvers<never>();
  const interrupt = (signal: NodeJS.Signals): void => {
    socket.destroy();
    interrupted.reject(new Interrupted(signal));
  };
  for (const signal of signals) process.on(signal, interrupt);
  try {
    return await Promise.race([work(), interrupted.promise]);
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}

async function connected(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED')
        reject(new NotRunning(`signetd is not running: no process listens on ${path}`));
      else if (error.code === 'EACCES' || error.code === 'EPERM') {
        reject(
          new AdminFailure(
            `${path}: permission denied; run this as root, as the user of signetd, or as a member of the socket's group (ls -l shows it)`,
          ),
        );
      } else reject(new AdminFailure(`${path}: ${error.message}`));
    });
    socket.once('connect', () => {
      socket.removeAllListeners('error').on('error', () => socket.destroy());
      resolve(socket);
    });
  });
}

/** Reads the lines that arrive, one at a time. */
function linesOf(socket: Socket): { next(): Promise<string> } {
  let bytes = Buffer.alloc(0);
  let waiting: PromiseWithResolvers<string> | undefined;
  let fault: AdminFailure | undefined;
  const look = (): void => {
    const feed = bytes.indexOf(0x0a);
    if (feed >= 0 && waiting !== undefined) {
      waiting.resolve(bytes.subarray(0, feed).toString('utf8'));
      waiting = undefined;
      bytes = bytes.subarray(feed + 1);
    } else if (fault !== undefined) waiting?.reject(fault);
  };
  const fail = (text: string): void => {
    fault ??= new AdminFailure(text);
    socket.destroy();
    look();
  };
  socket.setTimeout(answerSeconds * 1000, () => {
    fail(`signetd did not answer within ${answerSeconds} s`);
  });
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length > answerMaxBytes) fail('the answer of signetd is too long');
    look();
  });
  socket.on('close', () => {
    fail('signetd closed the connection without an answer; its log may say why');
  });
  return {
    async next() {
      waiting = Promise.withResolvers<string>();
      const { promise } = waiting;
      look();
      return promise;
    },
  };
}

function parsed<T>(schema: { parse(value: unknown): T }, line: string): T {
  try {
    return schema.parse(JSON.parse(line));
  } catch {
    throw otherVersion();
  }
}

function otherVersion(): AdminFailure {
  return new AdminFailure(
    'signetd uses another version of the protocol; signetctl and signetd must have the same version: restart signetd',
  );
}
