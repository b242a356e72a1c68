import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { ValidationRequest } from '../conformance/signatures.ts';

const Judgement = z.object({
  verdict: z.string(),
  level: z.string().nullish(),
  validators: z.array(z.object({ name: z.string(), verdict: z.string(), reasons: z.array(z.string()) })),
});
/** What the validators found of one file. */
export type Judgement = z.output<typeof Judgement>;

const command = process.env['SIGNETD_VALIDATOR'];

/** Why a test that has files judged cannot run. */
export const noValidator = command === undefined ? 'SIGNETD_VALIDATOR names no validator' : undefined;

/** Has the validators of SIGNETD_VALIDATOR judge files (docs/conformance.md). */
export async function judged(requests: readonly (ValidationRequest & { readonly password?: string })[]): Promise<Judgement[]> {
  const [program = '', ...args] = (command ?? '').split(' ');
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = text(child.stdout);
  child.stdin.end(requests.map((request) => `${JSON.stringify(request)}\n`).join(''));
  return (await answers)
    .trim()
    .split('\n')
    .map((line) => Judgement.parse(JSON.parse(line)));
}
