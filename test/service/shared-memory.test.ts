import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** Resident MiB of a process that makes memory, as bodies do, and lets it go. `work` is a part of a program. */
function residentMebibytes(work: string): number {
  const program = `
    import { readFileSync } from 'node:fs';
    import { setImmediate as turn } from 'node:timers/promises';
    import { sharedMemory } from './dist/service/shared-memory.js';
    for (let round = 0; round < 250; round += 1) {
      ${work}
      if (round % 10 === 0) await turn();
    }
    console.log(/VmRSS:\\s+(\\d+) kB/.exec(readFileSync('/proc/self/status', 'latin1'))[1] / 1024);
  `;
  return Number(execFileSync(process.execPath, ['--disable-sigusr1', '--input-type=module', '--eval', program], { encoding: 'utf8' }));
}

test('memory that is let go does not pile up: 250 bodies of 9 MB, written as a whole', () => {
  expect(residentMebibytes('Buffer.from(sharedMemory(9_000_000)).fill(1);')).toBeLessThan(1000);
});
