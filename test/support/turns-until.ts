const limitNs = 60_000_000_000n;

/**
 * Lets the event loop turn until a condition holds, for tests whose clock stands still: unlike `expect.poll`, this never moves it.
 * @throws {Error} after a minute
 */
export async function turnsUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = process.hrtime.bigint() + limitNs;
  while (!(await holds())) {
    if (process.hrtime.bigint() > end) throw new Error('what was waited for did not come');
    await new Promise(setImmediate);
  }
}
