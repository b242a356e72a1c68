import { readdirSync, readFileSync } from 'node:fs';
import { vi } from 'vitest';

/**
 * Stops a process, and returns once each of its threads stands still. The signal goes to one thread, which stops the others when it
 * is scheduled: on a busy machine they work on meanwhile (signal(7), "Process-directed signals").
 */
export async function stopProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await vi.waitUntil(() => threadStates(pid).every((state) => state === 'T'), { timeout: 20_000, interval: 1 });
}

/** The states of a process's threads: the field after the name in parentheses (proc(5), /proc/pid/stat). */
function threadStates(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
    return stat.charAt(stat.lastIndexOf(')') + 2);
  });
}
