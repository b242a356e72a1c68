import { chmodSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { Worker } from 'node:worker_threads';
import type { Handle } from 'pkcs11js';
import type { TokenConfig } from '../../config/config.ts';
import { moduleFile } from '../../config/module-file.ts';
import type { KeyId } from '../key-id.ts';
import type { ProbeReport } from '../probe-report.ts';
import { exitCodes, type Greeting } from './greeting.ts';
import { prepare } from './prepare.ts';
import type { KeyRules } from './key-objects.ts';
import type { ThreadInput, ThreadMessage } from './thread.ts';

/** A start that failed, with the exit code that tells the daemon whether another try is lawful. */
export class HostStartError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Starts the threads and watches their calls. Its own thread never calls PKCS#11, so it can end the process when a call hangs:
 * nothing in Node can end a thread that is inside a native call.
 */
export async function runHost(config: TokenConfig): Promise<void> {
  process.umask(0o077);
  const { profile, pin, modulePath } = prepare(config);
  const callStarts = new SharedArrayBuffer(4 * config.threads);
  watchDeadlines(new Int32Array(callStarts), config.callTimeoutSeconds * 1000);
  const workers: Worker[] = [];
  const sockets = Array.from({ length: config.threads }, (_, index) => `${config.socketPath}.${index}`);
  let shared: Ready | undefined;
  for (const [index, socketPath] of sockets.entries()) {
    const input: ThreadInput = {
      index,
      modulePath,
      label: config.label,
      socketPath,
      callStarts,
      profile,
      threads: config.threads,
      pin: index === 0 ? pin : undefined,
      keys: shared?.keys ?? new Map(),
      macKey: shared?.macKey,
      rules: shared?.rules,
    };
    // One after the other: the first one logs in, and some modules do not like threads that start together.
    const ready = await startThread(input, workers);
    shared ??= ready;
  }
  if (shared?.report === undefined) throw new Error('no thread has probed the token');
  for (const line of shared.report.limits) say('warn', line);
  await greet(config.socketPath, { protocol: 1, threads: sockets, probe: shared.report });
}

/** What a thread tells when it serves; the report comes from the first one. */
interface Ready {
  readonly keys: ReadonlyMap<KeyId, Handle>;
  readonly macKey: Handle;
  readonly rules: KeyRules;
  readonly report: ProbeReport | undefined;
}

async function startThread(input: ThreadInput, workers: Worker[]): Promise<Ready> {
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
      } else if (message.kind === 'loginLost') {
        say('error', `the token has forgotten the login (${message.message}); the host ends itself and is started again`);
        process.exit(exitCodes.loginLost);
      } else {
        for (const other of workers) if (other !== worker) other.postMessage(message);
      }
    });
  });
}

/** Tells whoever connects where the threads listen. The connection stays open: its end says that the host is gone. */
async function greet(socketPath: string, greeting: Greeting): Promise<void> {
  rmSync(socketPath, { force: true });
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.write(`${JSON.stringify(greeting)}\n`);
  });
  await new Promise<void>((resolve) => {
    server.listen(socketPath, resolve);
  });
  chmodSync(socketPath, 0o600);
}

function watchDeadlines(callStarts: Int32Array, timeoutMs: number): void {
  setInterval(
    () => {
      const now = Math.trunc(performance.timeOrigin + performance.now()) & 0x7fffffff;
      for (const index of callStarts.keys()) {
        const started = Atomics.load(callStarts, index);
        if (started !== 0 && ((now - started) & 0x7fffffff) > timeoutMs) {
          fail(`a call on thread ${index} did not return within ${timeoutMs} ms; the host ends itself`);
        }
      }
    },
    Math.min(100, timeoutMs / 10),
  );
}

function fail(message: string): void {
  say('error', message);
  process.kill(process.pid, 'SIGKILL');
}

function say(level: 'warn' | 'error', message: string): void {
  process.stderr.write(`${JSON.stringify({ level, message })}\n`);
}
