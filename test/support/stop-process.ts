import { readdirSync, readFileSync } from 'node:fs';
import { expect, vi } from 'vitest';

/**
 * Stops a process, and returns once each of its threads is stopped. One thread receives the signal and
 * stops the others when it is scheduled; on a busy machine they go on working until then (signal(7)).
 */
export async function stopProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const stopped = (): void => {
    expect(new Set(threadStates(pid))).toEqual(new Set(['T']));
  };
  await vi.waitFor(stopped, { timeout: 20_000, interval: 1 });
}

/** Returns the state of each thread of a process: the field after the name in parentheses (proc(5), /proc/pid/stat). */
function threadStates(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
    return stat.charAt(stat.lastIndexOf(')') + 2);
  });
}
