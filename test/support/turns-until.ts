/** Lets the event loop turn until a condition holds, for tests whose clock stands still: unlike `expect.poll`, this never moves it. */
export async function turnsUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(setImmediate);
}
