import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Reporter, SerializedError, TestCase, TestModule, TestRunEndReason, TestSpecification, TestSuite, Vitest } from 'vitest/node';
import { Progress } from './progress.ts';

type Entity = TestCase | TestModule | TestSuite;

/**
 * Shows the progress of a run and, after each file, its failures in full and its skipped tests with their reasons. The last
 * line is always `N passed, N failed` (`, N skipped` only if there are any). A file or suite that breaks outside of its
 * tests and an error that no test caught count as failed; a run that ran no test at all fails by its exit code.
 */
export class OutcomeReporter implements Reporter {
  readonly #consoleOutput = new Map<string, string[]>();
  readonly #running = new Map<string, string>();
  readonly #reported = new Set<string>();
  readonly #progress = new Progress(process.stdout, () => ({
    files: this.#reported.size,
    allFiles: this.#allFiles,
    passed: this.#count.passed,
    failed: this.#count.failed,
    running: [...this.#running.values()],
  }));
  #vitest: Vitest | undefined;
  #allFiles = 0;
  #count = { passed: 0, failed: 0, skipped: 0 };

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
    this.#progress.start();
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#allFiles = specifications.length;
  }

  onTestModuleStart(module: TestModule): void {
    this.#running.set(module.id, module.relativeModuleId);
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module.id);
    this.#progress.clear();
    this.#reportModule(module);
  }

  onUserConsoleLog(log: { taskId?: string; content: string }): void {
    const id = log.taskId ?? '';
    const lines = this.#consoleOutput.get(id) ?? [];
    lines.push(log.content);
    this.#consoleOutput.set(id, lines);
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[], reason: TestRunEndReason): void {
    this.#progress.stop();
    const count = this.#count;
    // Where the run was interrupted, not all of them have ended.
    for (const module of modules) if (!this.#reported.has(module.id)) this.#reportModule(module);
    for (const error of unhandledErrors) this.#printFailure('outside of any test', [error]);
    count.failed += unhandledErrors.length;

    writeDurations(modules);
    if (reason === 'interrupted') print('the run was interrupted');
    if (count.passed + count.failed === 0) print('no test ran');
    if (count.failed > 0 || count.passed === 0 || reason !== 'passed') process.exitCode = 1;
    this.#consoleOutput.clear();
    print(`${count.passed} passed, ${count.failed} failed${count.skipped > 0 ? `, ${count.skipped} skipped` : ''}`);
  }

  #reportModule(module: TestModule): void {
    this.#reported.add(module.id);
    this.#count.failed += this.#reportErrorsOutsideTests(module);
    for (const suite of module.children.allSuites()) this.#count.failed += this.#reportErrorsOutsideTests(suite);
    for (const test of module.children.allTests()) this.#count[this.#reportTest(test)] += 1;
  }

  #reportErrorsOutsideTests(entity: TestModule | TestSuite): number {
    const errors = entity.errors();
    if (errors.length > 0) this.#printFailure(nameOf(entity), errors, entity);
    return errors.length > 0 ? 1 : 0;
  }

  #reportTest(test: TestCase): 'passed' | 'failed' | 'skipped' {
    const result = test.result();
    switch (result.state) {
      case 'passed':
        return 'passed';
      case 'failed':
        this.#printFailure(nameOf(test), result.errors, test);
        return 'failed';
      case 'skipped':
        // Those that `-t` leaves out were not asked for.
        if (result.note !== undefined || !this.#runsASelection()) print(`skipped: ${nameOf(test)}${reasonOf(test, result.note)}`);
        return 'skipped';
      case 'pending':
        print(`\nFAILED ${nameOf(test)}\ndid not finish`);
        return 'failed';
    }
  }

  #runsASelection(): boolean {
    return this.#vitest?.config.testNamePattern !== undefined;
  }

  #printFailure(name: string, errors: readonly unknown[], entity?: Entity): void {
    print(`\nFAILED ${name}`);
    for (const error of errors) {
      this.#vitest?.logger.printError(error, entity === undefined ? {} : { project: entity.project });
    }
    const output = entity === undefined ? undefined : this.#consoleOutput.get(entity.id);
    if (output !== undefined) print(`Its console output:\n${output.join('')}`);
  }
}

/** Writes how many seconds each file took, the slowest first: its tests and hooks, then the loading of its modules. */
function writeDurations(modules: readonly TestModule[]): void {
  const directory = fileURLToPath(new URL('../var/', import.meta.url));
  mkdirSync(directory, { recursive: true });
  const rows = modules.map((module) => ({ path: module.relativeModuleId, ...module.diagnostic() }));
  const seconds = (ms: number): string => (ms / 1000).toFixed(1).padStart(7);
  const lines = rows
    .toSorted((left, right) => right.duration + right.collectDuration - left.duration - left.collectDuration)
    .map(({ path, duration, collectDuration }) => `${seconds(duration)} ${seconds(collectDuration)}  ${path}\n`);
  writeFileSync(join(directory, 'test-seconds.txt'), lines.join(''));
}

function nameOf(entity: Entity): string {
  return entity.type === 'module' ? entity.relativeModuleId : `${entity.module.relativeModuleId} > ${entity.fullName}`;
}

/** Empty where the name has it (`support/skip-note.ts`). */
function reasonOf(test: TestCase, note: string | undefined): string {
  if (note !== undefined) return `: ${note}`;
  if (test.fullName.includes('(skipped: ')) return '';
  for (let around: TestSuite | TestModule = test.parent; ; around = around.parent) {
    if (around.errors().length > 0) return ': what surrounds it failed';
    if (around.type === 'module') return ': no reason given';
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
