import { vi } from 'vitest';
import { signetctl } from '../../src/cli/program.ts';
import type { CommandRun } from './signetctl.ts';

/**
 * Runs signetctl in this process, one at a time: it costs no start of a program. For the further command lines of a
 * test file that also runs the built one.
 */
export async function signetctlHere(args: readonly string[]): Promise<CommandRun> {
  const printed = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      printed[stream] += String(text);
      return true;
    }),
  );
  try {
    return { status: await signetctl(args), ...printed };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
