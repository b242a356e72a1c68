import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { z } from 'zod';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { writeOwned } from './machine.ts';
import { places } from './places.ts';
import type { Answers } from './question.ts';

/** An authority as its section of the configuration has it. */
export const Authority = z.object({
  certificate: z.string(),
  chain: z.array(z.string()),
  keyId: z.string(),
  urls: z.record(z.string(), z.array(z.string())).optional(),
});

const Progress = z.object({
  answers: z.record(z.string(), z.string()),
  /** Names of the steps that are done. */
  done: z.array(z.string()),
  /** PIN file that the token refused: the same content is not tried again. */
  refusedPin: z.object({ file: z.string(), changedMs: z.number(), bytes: z.number() }).optional(),
  /** Key of an issuing CA that waits for its certificate from outside. */
  requested: z.object({ request: z.string(), keyId: z.string() }).optional(),
  certificateAuthorities: z.record(z.string(), Authority).optional(),
  clientAuthority: z.object({ certificate: z.string(), keyId: z.string() }).optional(),
});
type Values = z.output<typeof Progress>;

/**
 * What an unfinished setup has done, so that the next run goes on. It holds no secret. Each change
 * is on the disk before the next step.
 */
export class SetupProgress {
  readonly answers: Answers;
  #values: Values;

  constructor(answers: Answers, values: Values) {
    this.answers = answers;
    this.#values = values;
  }

  get values(): Readonly<Values> {
    return this.#values;
  }

  isDone(step: string): boolean {
    return this.#values.done.includes(step);
  }

  keep(changes: Partial<Values>): void {
    this.#values = { ...this.#values, ...changes };
    mkdirSync(places.work, { recursive: true, mode: 0o700 });
    writeOwned(places.progress, `${JSON.stringify(this.#values, undefined, 2)}\n`, 0o600);
  }

  finish(step: string): void {
    this.keep({ done: [...this.#values.done, step] });
  }
}

/** Returns what an earlier run noted; undefined if there was none. @throws {CommandError} */
export function earlierProgress(): Values | undefined {
  if (!existsSync(places.progress)) return undefined;
  try {
    return Progress.parse(JSON.parse(readFileSync(places.progress, 'utf8')));
  } catch (error) {
    throw new CommandError(exitCodes.refused, `${places.progress} cannot be read (${reasonOf(error)}): begin anew with --start-over`);
  }
}

/** Forgets the notes; what the steps have made stays. */
export function forgetProgress(): void {
  rmSync(places.work, { recursive: true, force: true });
}
