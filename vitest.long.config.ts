import { defineConfig } from 'vitest/config';
import { OutcomeReporter } from './test/reporter.ts';
import { longTests, repeatedTests, settings } from './vitest.config.ts';

/** The long tests, and again those that `npm test` repeats a few times only. */
export default defineConfig({ test: { ...settings, reporters: [new OutcomeReporter()], include: [longTests, ...repeatedTests] } });
