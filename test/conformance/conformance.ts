/**
 * Makes matrices of CAdES, XAdES and PAdES signatures with a service of its own and has an outside validator judge each: conformance.ts [all|pairs] [CAdES|XAdES|PAdES] [DIRECTORY]
 * The validator is the command that `conformance.json` names, or SIGNETD_VALIDATOR: it gets one JSON object a line and answers one a line, in that order
 * (docs/conformance.md).
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { levels } from './levels.ts';
import { makeSignatures, type Family, type MadeSignature, type ValidationRequest } from './signatures.ts';

const Configuration = z.strictObject({ validator: z.array(z.string()).min(1) });
const Judgement = z.object({
  verdict: z.string(),
  level: z.string().nullish(),
  validators: z.array(z.object({ name: z.string(), verdict: z.string(), reasons: z.array(z.string()) })),
});
type Judgement = z.output<typeof Judgement>;

const [which = 'all', ...others] = process.argv.slice(2);
if (which !== 'all' && which !== 'pairs') throw new Error('usage: conformance.ts [all|pairs] [CAdES|XAdES|PAdES] [DIRECTORY]');
const everyFamily: readonly Family[] = ['CAdES', 'XAdES', 'PAdES'];
const only = everyFamily.filter((family) => family === others[0]);
const given = others[only.length];
const directory = given === undefined ? mkdtempSync(join(tmpdir(), 'signetd-conformance-')) : resolve(given);
try {
  const { signatures, failures } = await makeSignatures(directory, { which, families: only.length > 0 ? only : everyFamily });
  const judgements = await judge(signatures.map(({ request }) => request));
  const judged = signatures.map((one, index) => ({ ...one, judgement: judgements[index] }));
  // A simple validator does not know every algorithm.
  const unknown = judged.filter(({ judgement }) => judgement?.verdict === 'not-applicable');
  const refused = judged.filter(
    ({ judgement, ...one }) => judgement === undefined || (judgement.verdict !== 'not-applicable' && !isAccepted(one, judgement)),
  );
  report(judged);
  const accepted = signatures.length - refused.length - unknown.length;
  process.stdout.write(`conformance: ${accepted} of ${signatures.length + failures.length} signatures accepted at the level claimed\n`);
  if (unknown.length > 0) process.stdout.write(`${unknown.length} have an algorithm that the validator does not know\n`);
  for (const { request, judgement } of refused.slice(0, 10))
    process.stdout.write(`${basename(request.file)}: ${JSON.stringify(judgement).slice(0, 2000)}\n`);
  for (const failure of failures.slice(0, 10)) process.stdout.write(`not made: ${failure}\n`);
  if (accepted === 0 || refused.length + failures.length > 0) process.exitCode = 1;
} finally {
  if (given === undefined) rmSync(directory, { recursive: true, force: true });
}

async function judge(requests: readonly ValidationRequest[]): Promise<Judgement[]> {
  const [command = '', ...options] = validator();
  const child = spawn(command, options, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(`${requests.map((request) => JSON.stringify(request)).join('\n')}\n`);
  const lines = (await text(child.stdout)).split('\n').filter((line) => line !== '');
  writeFileSync(join(directory, 'results.jsonl'), `${lines.join('\n')}\n`);
  return lines.map((line) => Judgement.parse(JSON.parse(line)));
}

function validator(): readonly string[] {
  const fromEnvironment = process.env['SIGNETD_VALIDATOR'];
  if (fromEnvironment !== undefined) return fromEnvironment.split(' ');
  return Configuration.parse(JSON.parse(readFileSync(new URL('./conformance.json', import.meta.url), 'utf8'))).validator;
}

/**
 * Below LT a signature holds no revocation data, which a validator may miss. Without signing time it is no baseline signature: it is to be sound, and that is
 * all that may be found missing. Where a validator is known to be wrong, another one is to accept the signature.
 */
function isAccepted({ request, plainLevel, refusedBy }: MadeSignature, { verdict, level, validators }: Judgement): boolean {
  const claimed = request.require ?? plainLevel;
  const isLow = claimed === undefined || claimed === 'B' || claimed === 'T';
  const isGood = (one: string): boolean => one === 'valid' || (isLow && one === 'valid-except-revocation');
  const critics = validators.filter((one) => !isGood(one.verdict) && one.verdict !== 'not-applicable');
  if (refusedBy !== undefined)
    return critics.every(({ name }) => name === refusedBy) && validators.some((one) => one.name !== refusedBy && isGood(one.verdict));
  if (claimed === undefined) return critics.every(({ reasons: [first = ''] }) => lacksOnlyTime(first));
  // A validator that tells no level has none to compare with.
  return isGood(verdict) && (level === undefined || level === null || level.endsWith(`-${claimed}`));
}

function lacksOnlyTime(reason: string): boolean {
  return reason.includes("'signing-time' is not present") && !/TOTAL_FAILED|not intact|not been found/.test(reason);
}

/** Prints, for each validator and verdict, how many signatures of each level got it. */
function report(judged: readonly (MadeSignature & { readonly judgement: Judgement | undefined })[]): void {
  const columns = [...levels, 'none'];
  const rows = new Map<string, number[]>();
  for (const { family, request, plainLevel, judgement } of judged) {
    for (const { name, verdict } of judgement?.validators ?? []) {
      const title = `${family}${plainLevel === undefined ? '' : ' BASIC'}  ${name}: ${verdict}`;
      const counts = rows.get(title) ?? columns.map(() => 0);
      const column = columns.indexOf(request.require ?? plainLevel ?? 'none');
      counts[column] = (counts[column] ?? 0) + 1;
      rows.set(title, counts);
    }
  }
  const width = Math.max(...[...rows.keys()].map((title) => title.length));
  const line = (title: string, cells: readonly (string | number)[]): string =>
    `${title.padEnd(width)}${cells.map((cell) => String(cell).padStart(7)).join('')}\n`;
  process.stdout.write(line('', columns));
  for (const [title, counts] of [...rows].toSorted(([left], [right]) => left.localeCompare(right)))
    process.stdout.write(line(title, counts));
}
