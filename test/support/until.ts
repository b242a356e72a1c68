import { setTimeout as delay } from 'node:timers/promises';

const pauseMs = 20;

/** Repeats a check until it passes, also outside of tests. @throws what it throws after the time given */
export async function until(check: () => unknown, { timeoutMs }: { readonly timeoutMs: number }): Promise<void> {
  for (const deadline = Date.now() + timeoutMs; ; await delay(pauseMs)) {
    try {
      await check();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
  }
}
