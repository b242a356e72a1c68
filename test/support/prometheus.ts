import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { z } from 'zod';
import { freePort } from '../../src/quickstart/ports.ts';

/** Why nothing can be checked with promtool; undefined where it is installed. */
export const noPromtool =
  spawnSync('promtool', ['--version']).error === undefined ? undefined : 'promtool (Debian: prometheus) is not installed';

const Answer = z.union([
  z.object({ status: z.literal('success'), data: z.unknown() }),
  z.object({ status: z.literal('error'), error: z.string() }),
]);
const Vector = z.object({
  result: z.array(z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) })),
});

/** A value with its labels. */
type Sample = z.infer<typeof Vector>['result'][number];

/** A Prometheus that reads the metrics of one service every second. */
export class RunningPrometheus {
  readonly #directory: string;
  readonly #process: ChildProcess;
  readonly #url: string;
  readonly #said: Promise<string>;

  private constructor(directory: string, port: number) {
    this.#directory = directory;
    this.#url = `http://127.0.0.1:${port}`;
    this.#process = spawn(
      'prometheus',
      [
        `--config.file=${join(directory, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(directory, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#said = this.#process.stderr === null ? Promise.resolve('') : text(this.#process.stderr);
  }

  /** `opsUrl`: the operations listener of the service. Rules are evaluated every second. */
  static async start(opsUrl: string, rules: string): Promise<RunningPrometheus> {
    const directory = mkdtempSync(join(tmpdir(), 'signetd-prometheus-'));
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [resolve(rules)],
      scrape_configs: [{ job_name: 'signetd', static_configs: [{ targets: [new URL(opsUrl).host] }] }],
    };
    writeFileSync(join(directory, 'prometheus.yml'), stringify(config));
    return new RunningPrometheus(directory, await freePort(19_090));
  }

  /** Answers a query as it is now. @throws {Error} if it does not answer, or answers an error */
  async query(expression: string): Promise<readonly Sample[]> {
    return Vector.parse(await this.#ask(`query?query=${encodeURIComponent(expression)}`)).result;
  }

  /** The answer to a request of its API. */
  async #ask(path: string): Promise<unknown> {
    if (this.#process.exitCode !== null) throw new Error(`prometheus has ended: ${await this.#said}`);
    const answer = Answer.parse(await (await fetch(`${this.#url}/api/v1/${path}`)).json());
    if (answer.status === 'error') throw new Error(answer.error);
    return answer.data;
  }

  /** The rules that could not be evaluated, and those that were not evaluated yet. */
  async rulesInError(): Promise<readonly string[]> {
    const Rules = z.object({
      groups: z.array(z.object({ rules: z.array(z.object({ name: z.string(), health: z.string(), lastError: z.string().optional() })) })),
    });
    const { groups } = Rules.parse(await this.#ask('rules'));
    return groups.flatMap(({ rules }) =>
      rules.filter(({ health }) => health !== 'ok').map(({ name, health, lastError = '' }) => `${name}: ${health} ${lastError}`),
    );
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) {
      const ended = once(this.#process, 'exit');
      this.#process.kill();
      await ended;
    }
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
