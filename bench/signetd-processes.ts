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
