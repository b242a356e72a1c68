import { configDefaults, defineConfig, type ViteUserConfig } from 'vitest/config';
import { OutcomeReporter } from './test/reporter.ts';

/** Tests of minutes rather than seconds: kills, floods, big matrices. `npm run test:long` runs them. */
export const longTests = 'test/**/*.long.test.ts';

/** Files that try more among the long tests than in `npm test` (`test/support/repetitions.ts`): more repetitions, or a whole matrix. */
export const repeatedTests = [
  'test/audit/{account-changes,crash,verify}.test.ts',
  'test/certificates/{crl/crl-publisher,ocsp/ocsp-responders}.test.ts',
  'test/http/{hostile/made,public/time-stamp-service}.test.ts',
  'test/keys/tampered-rows.test.ts',
  'test/service/restart.test.ts',
  'test/token/faults.test.ts',
];

export const settings: NonNullable<ViteUserConfig['test']> = {
  globalSetup: ['test/support/service.ts'],
  pool: 'forks',
  // More than there are processors: much of a test is waiting for processes that start.
  maxWorkers: 4,
  testTimeout: 120_000,
  hookTimeout: 240_000,
  execArgv: ['--disable-warning=ExperimentalWarning'],
  reporters: [new OutcomeReporter()],
};

export default defineConfig({
  test: { ...settings, include: ['test/**/*.test.ts'], exclude: [...configDefaults.exclude, longTests] },
});
