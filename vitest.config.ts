import { defineConfig } from 'vitest/config';
import { OutcomeReporter } from './test/reporter.ts';

export default defineConfig({
  test: {
    globalSetup: ['test/support/service.ts'],
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // More than there are processors: much of a test is waiting for processes that start.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    reporters: [new OutcomeReporter()],
  },
});
