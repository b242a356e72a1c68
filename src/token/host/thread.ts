import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { Handle } from 'pkcs11js';
import { permit } from '../../service/unix-socket.ts';
import { accountHeads } from '../account-files.ts';
import { faultKindOf } from '../pkcs11-faults.ts';
import { moduleFaultWords } from '../operator/token-failure.ts';
import { encodeAnswer, FrameSplitter, operations, statuses, type Frame } from '../wire/frames.ts';
import { callClockMs } from './call-clock.ts';
import { Executor, type HostMemory } from './execute.ts';
import { exitCodes } from './exit-codes.ts';
import { KeyDirectory, type KeyChange } from './key-directory.ts';
import { KeyListing } from './key-listing.ts';
import { findMacKeys } from './mac-key.ts';
import { MadeAuditKeys } from './made-audit-keys.ts';
import type { ModuleProfile } from './module-profile.ts';
import { admits, type Peers } from './peers.ts';
import { logIn, WrongPin } from './pin.ts';
import { probeToken, type Probed } from './probe.ts';
import { RefusedPin } from './refused-pin.ts';
import type { ServedBy } from './purposes/purposes.ts';
import { tokenSessionFault } from './start-conditions.ts';
import { loadModule, openSession, pkcs11Code, slotOf, type Session } from './session.ts';
import { UseAccount } from './use-account.ts';
import { WrongSecrets, type WrongSecretLimit } from './wrong-secrets.ts';

/** Input of a thread of the host. */
export interface ThreadInput {
  readonly index: number;
  readonly modulePath: string;
  readonly libraryParameters: string | undefined;
  readonly label: string;
  readonly socketPath: string;
  readonly peers: Peers;
  readonly profile: ModuleProfile;
  readonly servedBy: ServedBy;
  /** Number of threads of the host. */
  readonly threads: number;
  /** Start of the call in progress (`callClockMs`), one for each thread; 0 while idle. */
  readonly callStarts: SharedArrayBuffer;
  /** Requests served, one counter for each thread. */
  readonly served: SharedArrayBuffer;
  /** `MadeAuditKeys` */
  readonly auditKeys: SharedArrayBuffer;
  /**
   * Given only to the first thread: it logs the process in and wipes the memory, which it shares
   * with the main thread.
   */
  readonly pin: Uint8Array | undefined;
  /** Undefined if the token has none yet. The first thread looks it up itself. */
  readonly macKey: Handle | undefined;
  /** Result of the first thread's probe; undefined for the first thread. */
  readonly probed: Probed | undefined;
  readonly accountDirectory: string;
  /** Where refused PINs are kept (`RefusedPin`). */
  readonly refusedPin: { readonly directory: string; readonly whose: 'own' | 'service' };
  readonly accountRotateBytes: number;
  /** `Replacements` */
  readonly pauseMs: number;
  /** `changes`: a counter that the threads share. */
  readonly wrongSecrets: { readonly limit: WrongSecretLimit; readonly changes: SharedArrayBuffer };
}

/** Messages of threads to the main thread, which passes changes of keys on to the other threads. */
export type ThreadMessage =
  | { readonly kind: 'ready'; readonly macKey: Handle | undefined; readonly probed: Probed }
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode: number }
  /** Only a new process can serve. `isKnown`: the error alone tells; otherwise trials have. */
  | { readonly kind: 'faulty'; readonly reason: string; readonly isKnown: boolean }
  /** A user who may not use the token has tried to. */
  | { readonly kind: 'stranger'; readonly user: number | undefined }
  | KeyChange;

/**
 * Messages of the main thread: changes of other threads, and to read which keys there are (one
 * thread does).
 */
export type ThreadOrder = KeyChange | { readonly kind: 'list' };

const input = workerData as ThreadInput;
if (parentPort === null) throw new Error('thread.ts runs as a worker thread');
const main = parentPort;
const callStarts = new Int32Array(input.callStarts);
const served = new Int32Array(input.served);
const answerAfterMs = 2;
/** Requests that have come meanwhile are served before the next keys are read. */
const listingPauseMs = 1;
const listingAgainMs = 5000;

function send(message: ThreadMessage): void {
  main.postMessage(message);
}

/** The start cannot succeed with this token and this configuration. */
class StartRefused extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

try {
  start();
} catch (error) {
  send({ kind: 'failed', message: moduleFaultWords(error).text, exitCode: exitCodeOf(error) });
}

function exitCodeOf(error: unknown): number {
  if (error instanceof WrongPin) return exitCodes.pinRefused;
  return error instanceof StartRefused ? error.exitCode : exitCodes.startFailed;
}

function start(): void {
  const module = timed(load);
  const slot = timed(() => slotOf(module, input.label));
  // The anchor session holds the login; nothing else happens in it.
  if (input.pin !== undefined) {
    const pin = input.pin;
    const { maxRwSessionCount, serialNumber: serial } = timed(() => module.C_GetTokenInfo(slot));
    const sessionFault = tokenSessionFault(input.threads, maxRwSessionCount);
    if (sessionFault !== undefined) throw new StartRefused(sessionFault, exitCodes.configurationWrong);
    const { directory, whose } = input.refusedPin;
    const refused = new RefusedPin(directory, whose);
    if (whose === 'own') refused.reserve();
    timed(() => {
      logIn(openSession(module, slot), input.modulePath, pin, { serial, refused });
    });
  }
  const session = timed(() => openSession(module, slot));
  let first: Session | undefined = session;
  const probed = input.probed ?? timed(() => probe(session, slot));
  const macKey = input.pin === undefined ? input.macKey : timed(() => findMacKeys(session)[0]);
  const keys = new KeyDirectory(send, (id, handle) => {
    timed(() => {
      executor.destroyLate(id, handle);
    });
  });
  main.on('message', (message: ThreadOrder) => {
    if (message.kind === 'list') list(new KeyListing(() => executor.session, input.profile), keys);
    else keys.changed(message);
  });
  const open = (): Session => {
    const opened = first ?? openSession(module, slot);
    first = undefined;
    return opened;
  };
  const { accountDirectory: directory, accountRotateBytes: rotateBytes, wrongSecrets, servedBy, pauseMs } = input;
  const account = new UseAccount({ directory, chain: input.index, rotateBytes, failed });
  const memory: HostMemory = {
    use(use) {
      account.add(use);
    },
    wrongSecrets: new WrongSecrets(directory, wrongSecrets.limit, wrongSecrets.changes, failed),
    accountHeads: () => accountHeads(directory),
    auditKeys: new MadeAuditKeys(input.auditKeys),
  };
  const executor = new Executor(open, keys, macKey === undefined ? undefined : Buffer.from(macKey), probed, { memory, servedBy, pauseMs });
  rmSync(input.socketPath, { force: true });
  const server = createServer((socket) => {
    serve(socket, executor, account);
  });
  server.listen(input.socketPath, () => {
    permit(input.socketPath, { mode: input.peers.socketMode, group: undefined });
    send({ kind: 'ready', macKey, probed });
  });
}

/** Reads which keys are on the token, between requests, and begins anew if that fails. */
function list(listing: KeyListing, keys: KeyDirectory): void {
  const begin = (): void => {
    list(new KeyListing(listing.sessionNow, input.profile), keys);
  };
  try {
    const { keys: found, isComplete } = timed(() => listing.step());
    if (found.size > 0 || isComplete) keys.listed(found, isComplete);
    if (!isComplete) setTimeout(list, listingPauseMs, listing, keys);
    else if (listing.halfMadeAfterMs !== undefined) setTimeout(finishHalfMade, listing.halfMadeAfterMs, listing, keys);
  } catch (error) {
    tellIfLost(error);
    setTimeout(begin, listingAgainMs);
  }
}

function finishHalfMade(listing: KeyListing, keys: KeyDirectory): void {
  try {
    keys.listed(
      timed(() => listing.finishHalfMade()),
      true,
    );
  } catch (error) {
    // The next host looks again.
    tellIfLost(error);
  }
}

function tellIfLost(error: unknown): void {
  const code = pkcs11Code(error);
  if (code !== undefined && faultKindOf(code, { makesKey: false }) === 'lost') sendLoss(code);
}

function load(): ReturnType<typeof loadModule> {
  try {
    return loadModule(input.modulePath, input.libraryParameters);
  } catch (error) {
    throw new Error(`the PKCS#11 module ${input.modulePath} cannot be loaded: ${moduleFaultWords(error).text}`, { cause: error });
  }
}

function probe(session: Session, slot: Handle): Probed {
  const found = probeToken(session, slot, input.profile, { full: false });
  if (found.report.missing.length > 0) {
    throw new StartRefused(`the token "${input.label}" cannot be used: ${found.report.missing.join('; ')}`, exitCodes.capabilityMissing);
  }
  return found;
}

/**
 * Executes the requests of one read and answers them with one write, unless the first answers would
 * have to wait long for the last.
 */
function serve(socket: Socket, executor: Executor, account: UseAccount): void {
  const splitter = new FrameSplitter(operations.signAsService);
  // No answer leaves before the account has recorded what was done for it.
  const write = (answers: readonly Buffer[]): void => {
    account.flush();
    socket.write(Buffer.concat(answers));
  };
  socket.on('error', () => socket.destroy());
  const isServed = admits(socket, input.peers, (user) => {
    send({ kind: 'stranger', user });
  });
  if (!isServed) return;
  socket.on('data', (chunk) => {
    try {
      const frames = splitter.push(chunk);
      let answers: Buffer[] = [];
      let begin = performance.now();
      for (const frame of frames) {
        answers.push(answered(frame, executor));
        if (performance.now() - begin < answerAfterMs) continue;
        write(answers);
        answers = [];
        begin = performance.now();
      }
      if (answers.length > 0) write(answers);
    } catch {
      socket.destroy();
    }
  });
}

function answered(frame: Frame, executor: Executor): Buffer {
  const begin = performance.now();
  const { status, body } = timed(() => executor.execute(frame));
  Atomics.add(served, input.index, 1);
  if (status === statuses.lost) tellLoss(body);
  return encodeAnswer(frame.id, status, Math.round((performance.now() - begin) * 1000), body);
}

/**
 * The host's state cannot be written: this host does nothing more, and the next one tries again.
 */
function failed(reason: string): void {
  send({ kind: 'faulty', reason, isKnown: true });
}

function tellLoss(body: Uint8Array): void {
  sendLoss(Buffer.from(body).readUInt32BE(0));
}

function sendLoss(code: number): void {
  const isKnown = faultKindOf(code, { makesKey: false }) === 'lost';
  send({ kind: 'faulty', reason: `PKCS#11 returned 0x${code.toString(16)}`, isKnown });
}

/**
 * Shows the main thread that a call is in progress, so that it can end the process if the call does
 * not return.
 */
function timed<T>(call: () => T): T {
  Atomics.store(callStarts, input.index, callClockMs());
  try {
    return call();
  } finally {
    Atomics.store(callStarts, input.index, 0);
  }
}
