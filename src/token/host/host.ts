import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { Worker } from 'node:worker_threads';
import type { Handle } from 'pkcs11js';
import { accountDirectoryOf, type TokenConfig } from '../../config/token-config.ts';
import { moduleFile } from '../../config/module-file.ts';
import { permit } from '../../service/unix-socket.ts';
import { withPriority } from '../../telemetry/journal-priority.ts';
import { removeStartFailure } from '../start-failure.ts';
import { callClockMs, elapsedMs } from './call-clock.ts';
import type { Greeting } from './greeting.ts';
import { admits, peersOf, RefusedPeers, type Peers } from './peers.ts';
import { takeHostDirectory, wrongSecretLimit } from './host-directory.ts';
import { MadeAuditKeys } from './made-audit-keys.ts';
import { placeOfRefusedPin } from './place-of-refused-pin.ts';
import { prepare } from './prepare.ts';
import type { Probed } from './probe.ts';
import type { ServedBy } from './purposes/purposes.ts';
import { Replacements } from './replacements.ts';
import { Retirement } from './retirement.ts';
import { becomeTokenOwner } from './token-owner.ts';
import { threadsOf } from './start-conditions.ts';
import type { ThreadInput, ThreadMessage, ThreadOrder } from './thread.ts';

const useCheckMs = 100;
/**
 * Grace after a fault, kept short so that the next process serves waiting requests soon; a healthy
 * host finishes all its requests.
 */
const faultGraceMs = 250;
const recycleGraceMs = 60_000;

/** A failed start, with the exit code that tells the daemon whether it may try again. */
export class HostStartError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

export interface HostOptions {
  readonly servedBy: ServedBy;
}

export interface RunningHost {
  readonly threads: number;
  /** Answers the pending requests and ends the process. */
  retire(reason: string): void;
}

/**
 * Starts the threads and watches their calls. The main thread never calls PKCS#11, so it can end
 * the process when a call hangs: Node cannot end a thread that is inside a native call.
 */
export async function runHost(config: TokenConfig, { servedBy }: HostOptions): Promise<RunningHost> {
  process.umask(0o077);
  const peers = peersOf(config, process.getuid?.() ?? 0);
  const { profile, pin, modulePath } = prepare(config, servedBy === 'operator' ? 'anyone' : 'self');
  const threads = threadsOf(config, profile);
  if (servedBy === 'operator') becomeTokenOwner();
  const refusedPin = placeOfRefusedPin(config);
  const callStarts = new SharedArrayBuffer(4 * threads);
  const served = new SharedArrayBuffer(4 * threads);
  const auditKeys = MadeAuditKeys.memory();
  const lock = takeHostDirectory(config);
  process.on('exit', () => {
    lock.release();
  });
  const wrongSecretChanges = new SharedArrayBuffer(4);
  watchDeadlines(new Int32Array(callStarts), config.callTimeoutSeconds * 1000);
  const retirement = new Retirement(new Int32Array(callStarts));
  const replacements = new Replacements(config.socketPath);
  const workers: Worker[] = [];
  const strangers = new RefusedPeers((message) => {
    say('warn', message);
  });
  const sockets = Array.from({ length: threads }, (_, index) => `${config.socketPath}.${index}`);
  let shared: Ready | undefined;
  for (const [index, socketPath] of sockets.entries()) {
    const input: ThreadInput = {
      index,
      modulePath,
      libraryParameters: config.libraryParameters ?? profile.libraryParameters,
      label: config.label,
      socketPath,
      peers,
      callStarts,
      served,
      auditKeys,
      profile,
      servedBy,
      threads,
      pin: index === 0 ? pin : undefined,
      macKey: shared?.macKey,
      probed: shared?.probed,
      accountDirectory: accountDirectoryOf(config),
      refusedPin,
      accountRotateBytes: config.accountRotateBytes,
      pauseMs: replacements.pauseMs,
      wrongSecrets: { limit: wrongSecretLimit(config), changes: wrongSecretChanges },
    };
    // One after the other: the first logs in, and some modules fail when threads start
    // concurrently.
    const ready = await startThread(input, workers, { retirement, strangers, replacements });
    shared ??= ready;
  }
  if (shared === undefined) throw new Error('the host has no threads');
  // Each thread hears what this one finds.
  workers[0]?.postMessage({ kind: 'list' } satisfies ThreadOrder);
  const { report: probe } = shared.probed;
  for (const limit of probe.limits) say('warn', limit);
  removeStartFailure(config.socketPath);
  await greet(config.socketPath, { protocol: 10, threads: sockets, probe }, retirement, { peers, strangers });
  watchUse(config, new Int32Array(served), retirement);
  return {
    threads,
    retire(reason) {
      retirement.begin(reason, config.callTimeoutSeconds * 1000);
    },
  };
}

/** State that a thread reports once it serves. */
interface Ready {
  readonly macKey: Handle | undefined;
  readonly probed: Probed;
}

interface Listeners {
  readonly retirement: Retirement;
  readonly strangers: RefusedPeers;
  readonly replacements: Replacements;
}

async function startThread(input: ThreadInput, workers: Worker[], { retirement, strangers, replacements }: Listeners): Promise<Ready> {
  const worker = new Worker(moduleFile('./thread', import.meta.url), { workerData: input });
  return new Promise((resolve, reject) => {
    worker.on('error', (error: Error) => {
      fail(`thread ${input.index} ended: ${error.message}`);
    });
    worker.on('message', (message: ThreadMessage) => {
      if (message.kind === 'ready') {
        workers.push(worker);
        resolve(message);
      } else if (message.kind === 'failed') {
        reject(new HostStartError(message.message, message.exitCode));
      } else if (message.kind === 'stranger') {
        strangers.refused(message.user);
      } else if (message.kind === 'faulty') {
        if (!message.isKnown) replacements.note();
        retirement.begin(message.reason, faultGraceMs);
      } else {
        for (const other of workers) if (other !== worker) other.postMessage(message);
      }
    });
  });
}

/**
 * Tells each client where the threads listen. The connection stays open: its end means that the
 * host is gone.
 */
async function greet(
  socketPath: string,
  greeting: Greeting,
  retirement: Retirement,
  { peers, strangers }: { readonly peers: Peers; readonly strangers: RefusedPeers },
): Promise<void> {
  rmSync(socketPath, { force: true });
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    if (!admits(socket, peers, strangers.refused.bind(strangers))) return;
    socket.write(`${JSON.stringify(greeting)}\n`);
    retirement.peer(socket);
  });
  retirement.listener = server;
  await new Promise<void>((resolve) => {
    server.listen(socketPath, resolve);
  });
  permit(socketPath, { mode: peers.socketMode, group: undefined });
}

/** Retires a process after its maximum age or number of requests: modules leak memory. */
function watchUse({ recycleAfterRequests, recycleAfterSeconds }: TokenConfig, served: Int32Array, retirement: Retirement): void {
  const started = performance.now();
  setInterval(() => {
    const requests = served.reduce((sum, _, index) => sum + Atomics.load(served, index), 0);
    const seconds = (performance.now() - started) / 1000;
    if (requests >= recycleAfterRequests) retirement.begin(`it has served ${requests} requests`, recycleGraceMs);
    else if (seconds >= recycleAfterSeconds) retirement.begin(`it has run for ${Math.round(seconds)} s`, recycleGraceMs);
  }, useCheckMs);
}

function watchDeadlines(callStarts: Int32Array, timeoutMs: number): void {
  setInterval(
    () => {
      const now = callClockMs();
      for (const index of callStarts.keys()) {
        const started = Atomics.load(callStarts, index);
        if (started !== 0 && elapsedMs(started, now) > timeoutMs) {
          fail(`a call on thread ${index} did not return within ${timeoutMs} ms; the host ends itself`);
        }
      }
    },
    Math.min(250, timeoutMs / 4),
  );
}

function fail(message: string): void {
  say('error', message);
  process.kill(process.pid, 'SIGKILL');
}

function say(level: 'warn' | 'error', message: string): void {
  process.stderr.write(`${withPriority(level, JSON.stringify({ level, message }))}\n`);
}
