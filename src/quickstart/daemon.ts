import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { nodeFlags } from '../service/node-flags.ts';
import { layout, projectDirectory } from './layout.ts';

const startSeconds = 30;
const stopSeconds = 40;

/**
 * Process id of the service that this quickstart started, if it is running. An id that another
 * process has by now does not count.
 */
export function runningPid(): number | undefined {
  if (!existsSync(layout.pid)) return undefined;
  const pid = Number(readFileSync(layout.pid, 'utf8'));
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(layout.config) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Starts the service in the background with its output in a file, and waits until it is ready.
 * @throws {Error} with the end of that file
 */
export async function startDaemon(opsUrl: string): Promise<number> {
  const log = openSync(layout.log, 'a', 0o600);
  const logStart = statSync(layout.log).size;
  const child = spawn(process.execPath, [...nodeFlags, join(projectDirectory, 'dist', 'main.js'), '--config', layout.config], {
    cwd: layout.directory,
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const { pid } = child;
  if (pid === undefined) throw new Error('the service does not start');
  writeFileSync(layout.pid, `${pid}\n`);
  let ended = false;
  child.once('exit', () => {
    ended = true;
  });
  const deadline = Date.now() + startSeconds * 1000;
  while (!(await isReady(opsUrl, pid))) {
    if (ended || Date.now() > deadline) {
      if (!ended) child.kill('SIGKILL');
      rmSync(layout.pid, { force: true });
      throw new Error(
        `the service is not ready; the end of ${layout.log}:\n${readFileSync(layout.log).subarray(logStart).toString('utf8').split('\n').slice(-15).join('\n')}`,
      );
    }
    await delay(50);
  }
  child.unref();
  return pid;
}

/** Stops the service and waits until it has ended. Returns false if none is running. */
export async function stopDaemon(): Promise<boolean> {
  const pid = runningPid();
  if (pid === undefined) return false;
  process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + stopSeconds * 1000;
  while (runningPid() !== undefined) {
    if (Date.now() > deadline) throw new Error(`the service (process ${pid}) does not end`);
    await delay(50);
  }
  rmSync(layout.pid, { force: true });
  return true;
}

/** Whether this process reports that it is ready: another service may have the port. */
export async function isReady(opsUrl: string, pid: number): Promise<boolean> {
  try {
    const response = await fetch(`${opsUrl}/health/ready`);
    const body: unknown = await response.json();
    return response.status === 200 && typeof body === 'object' && body !== null && 'pid' in body && body.pid === pid;
  } catch {
    return false;
  }
}
