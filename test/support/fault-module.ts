import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const softhsm =
  ['/usr/lib/softhsm/libsofthsm2.so', '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so'].find((path) => existsSync(path)) ?? '';

/** Compiles the module with faults into a directory; answers its path and what has to be in the host's environment. */
export function faultModule(directory: string): { modulePath: string; faultFile: string; environment: Record<string, string> } {
  const modulePath = join(directory, 'fault-module.so');
  const faultFile = join(directory, 'fault');
  execFileSync('gcc', ['-shared', '-fPIC', '-O1', '-Wall', '-o', modulePath, 'test/support/fault-module.c', '-ldl']);
  return { modulePath, faultFile, environment: { FAULT_FILE: faultFile, FAULT_REAL_MODULE: softhsm } };
}
