import { describe, expect, it } from 'vitest';
import { randomNumbers } from '../support/random-numbers.ts';
import { repetitions } from '../support/repetitions.ts';
import { LoopClock } from './loop-clock.ts';
import { targets } from './targets.ts';

/** Far more than a verification takes, also beside a busy machine. */
const eachMs = 400;
/** Ten times what a request may hold the event loop: garbage collection and cold code count here, too. */
const loopMaxMs = 500;
const inputs = repetitions(2000, 150);

describe.each(Object.keys(targets))('what strangers send to the verifier of %s, changed at random', (name) => {
  it(
    'is judged or refused with a code, and holds the event loop for a short time only',
    async () => {
      const target = targets[name]?.();
      if (target === undefined) throw new Error(`no verifier ${name}`);
      const random = randomNumbers(Date.now() % 2 ** 31);
      const clock = new LoopClock();
      const outcomes = new Map<string, number>();
      for (let count = 0; count < inputs; count += 1) {
        const input = target.input(random);
        const { result, spentMs } = await clock.measured(async () => target.run(input, clock.threads));
        outcomes.set(result, (outcomes.get(result) ?? 0) + 1);
        expect(spentMs.loop, `input in base64: ${Buffer.from(input).toString('base64').slice(0, 20_000)}`).toBeLessThan(loopMaxMs);
      }
      // Both happen often enough to say something.
      expect(outcomes.size).toBeGreaterThan(1);
    },
    inputs * eachMs,
  );
});
