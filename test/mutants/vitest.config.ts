import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Runs the files in the order in which they were named. */
class AsNamed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const order = process.argv.map((path) => path.replace(/^\.\//, ''));
    const place = ({ moduleId }: TestSpecification): number => order.findIndex((path) => path !== '' && moduleId.endsWith(`/${path}`));
    return Promise.resolve(files.toSorted((one, other) => place(one) - place(other)));
  }
}

/** For tests of mutants: without the quickstart, one file after the other, and no further one after a failure. */
export default defineConfig({
  test: {
    root: process.cwd(),
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    bail: 1,
    sequence: { sequencer: AsNamed },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    // As often as in one run of all checks (`test/support/repetitions.ts`).
    env: { SIGNETD_ROUNDS: '1' },
    provide: { templateToken: process.env['SIGNETD_TEMPLATE_TOKEN'] ?? '' },
    reporters: ['json'],
  },
});
