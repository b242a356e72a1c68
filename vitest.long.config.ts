import { defineConfig } from 'vitest/config';
import { OutcomeReporter } from './test/reporter.ts';
import { rounds } from './test/support/repetitions.ts';
import { longTests, repeatedTests, settings, testTimeout } from './vitest.config.ts';

/** The long tests, and again those that `npm test` repeats a few times only. */
export default defineConfig({
  test: {
    ...settings,
    reporters: [new OutcomeReporter()],
    include: [longTests, ...repeatedTests],
    // A property over HTTP takes two minutes where six processes share a processor.
    testTimeout: 3 * testTimeout * (rounds ?? 1),
  },
});
