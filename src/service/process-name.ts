import { writeFileSync } from 'node:fs';

/** The kernel keeps 15 bytes of a name (proc(5), /proc/pid/comm). */
type ProcessName = 'signetd' | 'signetd-token';

/**
 * Names this process for `systemctl status`, `ps` and `top`, which would show Node's name of its
 * main thread. The command line stays as it is; `process.title` would overwrite it.
 */
export function nameProcess(name: ProcessName): void {
  try {
    writeFileSync('/proc/self/comm', name);
  } catch {
    // Without /proc the service works as well.
  }
}
