import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { quickstartDirectory } from './quickstart-description.ts';

/**
 * Returns the process ids of a running quickstart: those in its `*.pid` files and all their
 * descendants, such as the token host.
 */
export function signetdPids(directory = quickstartDirectory): number[] {
  const found = new Set<number>();
  for (const name of readdirSync(directory).filter((entry) => entry.endsWith('.pid'))) {
    const pid = Number.parseInt(readFileSync(join(directory, name), 'utf8'), 10);
    if (Number.isInteger(pid) && pid > 1) addWithChildren(pid, found);
  }
  return [...found].toSorted((left, right) => left - right);
}

function addWithChildren(pid: number, found: Set<number>): void {
  const tasks = `/proc/${pid}/task`;
  if (found.has(pid) || !existsSync(tasks)) return;
  found.add(pid);
  for (const task of readdirSync(tasks)) {
    for (const child of readChildren(`${tasks}/${task}/children`)) addWithChildren(child, found);
  }
}

/** Returns no children for a thread that has ended since it was listed. */
function readChildren(path: string): number[] {
  try {
    return readFileSync(path, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Returns the resident memory of all processes of the running quickstart. */
export function residentMebibytes(): number {
  return signetdPids().reduce((total, pid) => total + residentMebibytesOf(pid), 0);
}

/** Returns the resident memory of a process; 0 if it has ended. */
export function residentMebibytesOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}

/** Returns the resident memory of a service: of the daemon, and of the token host. */
export function residentMebibytesByPart(directory: string): { readonly daemon: number; readonly host: number } {
  const pids = signetdPids(directory);
  const hosts = pids.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('token-host'));
  const total = (of: readonly number[]): number => of.reduce((sum, pid) => sum + residentMebibytesOf(pid), 0);
  return { daemon: total(pids.filter((pid) => !hosts.includes(pid))), host: total(hosts) };
}

/** Linux counts in hundredths of a second. */
const ticksPerSecond = 100;

/** Returns the processor time that all processes of the running quickstart have taken. */
export function cpuSeconds(): number {
  return cpuSecondsOf(signetdPids());
}

/** Returns the processor time that some processes have taken. */
export function cpuSecondsOf(pids: readonly number[]): number {
  return pids.reduce((total, pid) => total + ticksIn(`/proc/${pid}/stat`), 0) / ticksPerSecond;
}

/** Returns the processor time that each thread of the daemon of a service has taken, by its number. */
export function daemonThreadSeconds(directory: string): ReadonlyMap<string, number> {
  const daemon = Number.parseInt(readFileSync(join(directory, 'daemon.pid'), 'utf8'), 10);
  const tasks = `/proc/${daemon}/task`;
  return new Map(readdirSync(tasks).map((thread) => [thread, ticksIn(`${tasks}/${thread}/stat`) / ticksPerSecond]));
}

function ticksIn(file: string): number {
  // The name of the program stands in parentheses, and may have spaces (proc(5)).
  const [, rest = ''] = /\) (.*)$/s.exec(readFileSync(file, 'utf8')) ?? [];
  const fields = rest.split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
