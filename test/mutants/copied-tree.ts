import { execFileSync, spawn } from 'node:child_process';
import { closeSync, cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Mutant } from './mutations.ts';

const TestRun = z.object({
  testResults: z.array(z.object({ name: z.string(), message: z.string(), assertionResults: z.array(z.object({ status: z.string() })) })),
});

/** What a run of test files came to. */
export interface TestRunOutcome {
  readonly outcome: 'passed' | 'failed' | 'timed out';
  /** The file that failed; those after it were not run. */
  readonly failed: string | undefined;
}

/** A copy of the working tree, in which mutants are tried; the tree itself is never changed. */
export class CopiedTree {
  readonly directory = mkdtempSync(join(tmpdir(), 'signetd-mutants-'));
  readonly #template: string;
  /** Process group of what runs. */
  #running: number | undefined;

  /** @param templateToken the token that tests copy, see `ScratchToken` */
  constructor(root: string, templateToken: string) {
    this.#template = templateToken;
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
    for (const path of listed.split('\0')) {
      if (path === '' || !existsSync(join(root, path))) continue;
      mkdirSync(dirname(join(this.directory, path)), { recursive: true });
      cpSync(join(root, path), join(this.directory, path));
    }
    cpSync(join(root, 'dist'), join(this.directory, 'dist'), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.directory, 'node_modules'));
  }

  /** Does something while the mutant is in the copy. */
  async while<T>({ file, start, end, replacement }: Mutant, work: () => Promise<T>): Promise<T> {
    const path = join(this.directory, file);
    const source = readFileSync(path, 'utf8');
    this.#write(file, source.slice(0, start) + replacement + source.slice(end));
    try {
      return await work();
    } finally {
      this.#write(file, source);
    }
  }

  /** Also as the build would make it: some tests run the programs that were built. */
  #write(file: string, source: string): void {
    writeFileSync(join(this.directory, file), source);
    const built = join(this.directory, 'dist', file.replace(/^src\//, '').replace(/\.ts$/, '.js'));
    const script = stripTypeScriptTypes(source).replaceAll(/((?:from|import)\s*\(?\s*'\.[^'\n]*)\.ts'/g, "$1.js'");
    writeFileSync(built, script);
  }

  async run(tests: readonly string[], limitMs: number): Promise<TestRunOutcome> {
    const report = join(this.directory, 'var', 'mutant-report.json');
    rmSync(report, { force: true });
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/mutants/vitest.config.ts', `--outputFile=${report}`];
    const end = await this.#node([...vitest, ...tests], limitMs);
    const { testResults } = existsSync(report) ? TestRun.parse(JSON.parse(readFileSync(report, 'utf8'))) : { testResults: [] };
    const failed = testResults.find(
      ({ message, assertionResults }) => message !== '' || assertionResults.some((one) => one.status === 'failed'),
    );
    return { outcome: end === 'timed out' ? end : end === 0 ? 'passed' : 'failed', failed: failed?.name.slice(this.directory.length + 1) };
  }

  /** Whether the compiler takes the tree as it is. */
  async compiles(): Promise<boolean> {
    return (await this.#node(['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noEmit'], 300_000)) === 0;
  }

  /** Ends what runs in it, and takes it away. */
  remove(): void {
    this.#endRunning();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Answers the exit code. What runs too long is ended with all that it has started. */
  async #node(args: readonly string[], limitMs: number): Promise<number | 'timed out'> {
    mkdirSync(join(this.directory, 'var'), { recursive: true });
    const log = openSync(join(this.directory, 'var', 'mutant.log'), 'w');
    const child = spawn(process.execPath, ['--disable-sigusr1', '--disable-warning=ExperimentalWarning', ...args], {
      cwd: this.directory,
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...process.env, CI: 'true', SIGNETD_TEMPLATE_TOKEN: this.#template },
    });
    closeSync(log);
    this.#running = child.pid;
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        this.#endRunning();
      }, limitMs);
      child.once('error', reject);
      child.once('exit', (code) => {
        clearTimeout(timer);
        this.#endRunning();
        resolve(isLate ? 'timed out' : (code ?? 1));
      });
    });
  }

  #endRunning(): void {
    if (this.#running === undefined) return;
    try {
      process.kill(-this.#running, 'SIGKILL');
    } catch {
      // Nothing of it is left.
    }
    this.#running = undefined;
  }
}
