import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { Handle } from 'pkcs11js';
import type { KeyId } from '../key-id.ts';
import type { ProbeReport } from '../probe-report.ts';
import { encodeFrame, FrameSplitter, statuses } from '../wire/frames.ts';
import { Executor, type Answer, type KeyHandles } from './execute.ts';
import { exitCodes } from './greeting.ts';
import { ensureMacKey, listPrivateKeys, type KeyRules } from './key-objects.ts';
import type { ModuleProfile } from './module-profile.ts';
import { probeToken } from './probe.ts';
import { loadModule, logIn, openSession, PinRefused, slotOf, type Session } from './session.ts';
import { tokenSessionFault } from './session-limit.ts';

/** What a thread of the host is given. */
export interface ThreadInput {
  readonly index: number;
  readonly modulePath: string;
  readonly label: string;
  readonly socketPath: string;
  readonly profile: ModuleProfile;
  /** How many threads the host has. */
  readonly threads: number;
  /** Milliseconds since the host's start at which the call in progress began, one a thread; 0 while idle. */
  readonly callStarts: SharedArrayBuffer;
  /** Given to the first thread alone: it logs the process in. */
  readonly pin: string | undefined;
  readonly keys: ReadonlyMap<KeyId, Handle>;
  readonly macKey: Handle | undefined;
  /** What the first thread's probe found; it finds it itself. */
  readonly rules: KeyRules | undefined;
}

/** What threads tell the main thread, which passes changes of keys on to the others. */
export type ThreadMessage =
  | {
      readonly kind: 'ready';
      readonly keys: ReadonlyMap<KeyId, Handle>;
      readonly macKey: Handle;
      readonly rules: KeyRules;
      readonly report: ProbeReport | undefined;
    }
  | { readonly kind: 'failed'; readonly message: string; readonly exitCode: number }
  | { readonly kind: 'loginLost'; readonly message: string }
  | KeyChange;

export type KeyChange =
  | { readonly kind: 'added'; readonly id: KeyId; readonly handle: Handle }
  | { readonly kind: 'removed'; readonly id: KeyId };

const input = workerData as ThreadInput;
if (parentPort === null) throw new Error('thread.ts runs as a worker thread');
const main = parentPort;
const callStarts = new Int32Array(input.callStarts);

function send(message: ThreadMessage): void {
  main.postMessage(message);
}

/** A start that cannot succeed with this token and this configuration. */
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
  send({ kind: 'failed', message: error instanceof Error ? error.message : String(error), exitCode: exitCodeOf(error) });
}

function exitCodeOf(error: unknown): number {
  if (error instanceof PinRefused) return exitCodes.pinRefused;
  return error instanceof StartRefused ? error.exitCode : exitCodes.startFailed;
}

function start(): void {
  const module = timed(() => loadModule(input.modulePath));
  const slot = timed(() => slotOf(module, input.label));
  // The anchor session holds the login; nothing else happens in it.
  if (input.pin !== undefined) {
    const pin = input.pin;
    const sessionFault = tokenSessionFault(input.threads, timed(() => module.C_GetTokenInfo(slot)).maxRwSessionCount);
    if (sessionFault !== undefined) throw new StartRefused(sessionFault, exitCodes.configurationWrong);
    timed(() => {
      logIn(openSession(module, slot), pin);
    });
  }
  const session = timed(() => openSession(module, slot));
  const probed = input.rules === undefined ? timed(() => probe(session, slot)) : { rules: input.rules, report: undefined };
  const handles = new Map(input.pin === undefined ? input.keys : timed(() => listPrivateKeys(session, input.profile)));
  const macKey = input.macKey === undefined ? timed(() => ensureMacKey(session, input.profile)) : Buffer.from(input.macKey);
  const keys: KeyHandles = {
    get: (id) => handles.get(id),
    added(id, handle) {
      handles.set(id, handle);
      send({ kind: 'added', id, handle });
    },
    removed(id) {
      handles.delete(id);
      send({ kind: 'removed', id });
    },
    all: () => handles.keys(),
  };
  main.on('message', (change: KeyChange) => {
    // A Buffer crosses threads as a Uint8Array, and pkcs11js takes only Buffers.
    if (change.kind === 'added') handles.set(change.id, Buffer.from(change.handle));
    else handles.delete(change.id);
  });
  for (const [id, handle] of handles) handles.set(id, Buffer.from(handle));
  const executor = new Executor(session, keys, macKey, probed.rules);
  rmSync(input.socketPath, { force: true });
  const server = createServer((socket) => {
    serve(socket, executor);
  });
  server.listen(input.socketPath, () => {
    chmodSync(input.socketPath, 0o600);
    send({ kind: 'ready', keys: handles, macKey, ...probed });
  });
}

function probe(session: Session, slot: Handle): { readonly rules: KeyRules; readonly report: ProbeReport } {
  const found = probeToken(session, slot, input.profile, { full: false });
  if (found.report.missing.length > 0) {
    throw new StartRefused(`the token "${input.label}" cannot be used: ${found.report.missing.join('; ')}`, exitCodes.capabilityMissing);
  }
  return found;
}

/** Carries out what one read brought, and answers it with one write. */
function serve(socket: Socket, executor: Executor): void {
  const splitter = new FrameSplitter();
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    try {
      let lost: string | undefined;
      const answers = splitter.push(chunk).map((frame) => {
        const answer = timed(() => executor.execute(frame));
        lost ??= lostLogin(answer);
        return encodeFrame(frame.id, answer.status, answer.body);
      });
      if (answers.length === 0) return;
      socket.write(Buffer.concat(answers), () => {
        if (lost !== undefined) send({ kind: 'loginLost', message: lost });
      });
    } catch {
      socket.destroy();
    }
  });
}

/** CKR_SESSION_CLOSED, CKR_SESSION_HANDLE_INVALID, CKR_USER_NOT_LOGGED_IN, CKR_CRYPTOKI_NOT_INITIALIZED */
const loginLostCodes = new Set([0xb0, 0xb3, 0x101, 0x190]);

/** What the module said, where it means that the login is gone: some modules lose it with their connection and leave it to the caller. */
function lostLogin({ status, body }: Answer): string | undefined {
  if (status !== statuses.fault || !loginLostCodes.has(Buffer.from(body).readUInt32BE(0))) return undefined;
  return Buffer.from(body).subarray(8).toString('utf8');
}

/** Tells the main thread that a call runs, so that it can end the process if the call does not return. */
function timed<T>(call: () => T): T {
  Atomics.store(callStarts, input.index, Math.max(1, Math.trunc(performance.timeOrigin + performance.now()) & 0x7fffffff));
  try {
    return call();
  } finally {
    Atomics.store(callStarts, input.index, 0);
  }
}
