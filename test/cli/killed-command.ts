import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** Runs signetctl and kills it, with its token host, at any moment of that time; it may have ended before. */
export async function killedWithin(ms: number, ...command: readonly string[]): Promise<void> {
  // A group of its own: its token host ends with it.
  const child = spawn(process.execPath, ['--disable-sigusr1', 'dist/cli.js', ...command], { stdio: 'ignore', detached: true });
  const ended = once(child, 'exit');
  await Promise.race([ended, delay(randomInt(ms))]);
  if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  await ended;
}
