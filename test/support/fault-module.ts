import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A module wrapped in one that fails on demand: `fault-module.c` says how. */
export interface FaultModule {
  readonly path: string;
  readonly environment: { readonly FAULT_FILE: string; readonly FAULT_REAL_MODULE: string };
  /** Arms a fault, such as `C_Sign hang`. */
  arm(fault: string): void;
  /** Ends a fault that says `always`. */
  disarm(): void;
  /** Whether a fault waits for the call that it strikes. */
  readonly armed: boolean;
  remove(): void;
}

const softhsmPaths = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so',
];

/**
 * Compiles the module.
 * @param wrapped path of the real module; SoftHSM's if it is not given
 * @throws {Error} without gcc or SoftHSM
 */
export function faultModule(wrapped?: string): FaultModule {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-faults-'));
  const path = join(directory, 'fault-module.so');
  const faultFile = join(directory, 'fault');
  const real = wrapped ?? softhsmPaths.find((candidate) => existsSync(candidate));
  if (real === undefined) throw new Error('SoftHSM is not installed');
  execFileSync('gcc', ['-shared', '-fPIC', '-O1', '-Wall', '-o', path, 'test/support/fault-module.c', '-ldl']);
  return {
    path,
    environment: { FAULT_FILE: faultFile, FAULT_REAL_MODULE: real },
    arm(fault) {
      writeFileSync(faultFile, `${fault}\n`);
    },
    disarm() {
      rmSync(faultFile, { force: true });
    },
    get armed() {
      return existsSync(faultFile);
    },
    remove() {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
