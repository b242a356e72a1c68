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

/** Resident MiB of a process that reads large bodies in a thread, one after another. */
function residentMebibytesOfBodies(bodies: number, bytes: number): number {
  const program = `
    import { readFileSync } from 'node:fs';
    import { parseBigJson } from './dist/http/json/big-json.js';
    import { sharedMemory } from './dist/service/shared-memory.js';
    import { WorkThreads } from './dist/threads/work-threads.js';
    const threads = new WorkThreads();
    for (let body = 0; body < ${bodies}; body += 1) {
      const bytes = Buffer.from(sharedMemory(${bytes})).fill('A');
      bytes.write('{"a":"');
      bytes.write('"}', bytes.length - 2);
      await parseBigJson({ pieces: [bytes.buffer], length: bytes.length }, { valuesMax: 10 }, threads);
    }
    console.log(/VmRSS:\\s+(\\d+) kB/.exec(readFileSync('/proc/self/status', 'latin1'))[1] / 1024);
    await threads.stop();
  `;
  return Number(execFileSync(process.execPath, ['--disable-sigusr1', '--input-type=module', '--eval', program], { encoding: 'utf8' }));
}

test('memory that is let go does not pile up in a work thread either: 75 bodies of 20 MB', () => {
  expect(residentMebibytesOfBodies(75, 20_000_000)).toBeLessThan(1000);
});

test('memory that is let go does not pile up: 250 bodies of 9 MB, written as a whole', () => {
  expect(residentMebibytes('Buffer.from(sharedMemory(9_000_000)).fill(1);')).toBeLessThan(1000);
});
