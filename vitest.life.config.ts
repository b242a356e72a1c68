import { defineConfig } from 'vitest/config';
import { OutcomeReporter } from './test/reporter.ts';
import { settings } from './vitest.config.ts';

/** The life of one appliance, from its installation to its removal: a script with a log in var/life.log (`npm run test:life`). */
export default defineConfig({
  test: {
    ...settings,
    reporters: [new OutcomeReporter()],
    include: ['test/life/appliance.life.ts'],
    // Each step needs those before it.
    bail: 1,
    testTimeout: 900_000,
  },
});
