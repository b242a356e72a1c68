import { setTimeout as delay } from 'node:timers/promises';

const pollMs = 20;
const longestMs = 20_000;

/** Waits until something is so. @throws {Error} where it does not come to be */
export async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + longestMs;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(`it did not come to be: ${isSo.toString()}`);
    await delay(pollMs);
  }
}
