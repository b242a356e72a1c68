import { writeFileSync } from 'node:fs';
import { native } from './native.ts';

/** The kernel keeps 15 bytes of a name (proc(5), /proc/pid/comm). */
type ProcessName = 'signetd' | 'signetd-token';

/**
 * Names this process, and keeps its memory, with keys and secrets, from other processes of its user
 * and from core dumps. Its files in /proc belong to root afterwards; it can still use most of them.
 */
export function beginProcess(name: ProcessName): void {
  nameProcess(name);
  native().guardMemory();
}

/**
 * Names this process for `systemctl status`, `ps` and `top`, which would show Node's name of its
 * main thread. The command line stays as it is; `process.title` would overwrite it.
 */
function nameProcess(name: ProcessName): void {
  try {
    writeFileSync('/proc/self/comm', name);
  } catch {
    // Without /proc the service works as well.
  }
}
