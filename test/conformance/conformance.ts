/**
 * Makes the matrix of CAdES signatures with a service of its own and has an outside validator judge each: conformance.ts [all|pairs] [DIRECTORY]
 * The validator is the command that `conformance.json` names, or SIGNETD_VALIDATOR: it gets one JSON object a line and answers one a line, in that order
 * (docs/conformance.md).
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { makeSignatures, type ValidationRequest } from './signatures.ts';

const Configuration = z.strictObject({ validator: z.array(z.string()).min(1) });
const Judgement = z.object({
  verdict: z.string(),
  level: z.string().nullish(),
  validators: z.array(z.object({ name: z.string(), verdict: z.string(), reasons: z.array(z.string()) })),
});
type Judgement = z.output<typeof Judgement>;

const [which = 'all', given] = process.argv.slice(2);
if (which !== 'all' && which !== 'pairs') throw new Error('usage: conformance.ts [all|pairs] [DIRECTORY]');
const directory = given ?? mkdtempSync(join(tmpdir(), 'signetd-conformance-'));
try {
  const requests = await makeSignatures(directory, which);
  const judgements = await judge(requests);
  const refused = requests.flatMap((request, index) => {
    const judgement = judgements[index];
    return judgement !== undefined && isAccepted(request, judgement) ? [] : [{ request, judgement }];
  });
  report(requests, judgements);
  process.stdout.write(`conformance: ${requests.length - refused.length} of ${requests.length} signatures accepted at the level claimed\n`);
  for (const { request, judgement } of refused.slice(0, 10))
    process.stdout.write(`${basename(request.file)}: ${JSON.stringify(judgement).slice(0, 2000)}\n`);
  if (requests.length === 0 || refused.length > 0) process.exitCode = 1;
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
 * all that may be found missing.
 */
function isAccepted({ require: claimed }: ValidationRequest, { verdict, level, validators }: Judgement): boolean {
  if (claimed === undefined) {
    const critics = validators.filter((one) => one.verdict !== 'valid' && one.verdict !== 'not-applicable');
    return critics.every(({ reasons: [first = ''] }) => first.includes("'signing-time' is not present"));
  }
  const isLow = claimed === 'B' || claimed === 'T';
  const isRight = verdict === 'valid' || (isLow && verdict === 'valid-except-revocation');
  // A validator that tells no level has none to compare with.
  return isRight && (level === undefined || level === null || level.endsWith(`-${claimed}`));
}

function report(requests: readonly ValidationRequest[], judgements: readonly Judgement[]): void {
  const counts = new Map<string, number>();
  for (const [index, { validators }] of judgements.entries()) {
    const claimed = requests[index]?.require ?? 'no baseline level';
    for (const { name, verdict } of validators) {
      if (verdict === 'not-applicable') continue;
      const line = `${name}: ${verdict}, ${claimed}`;
      counts.set(line, (counts.get(line) ?? 0) + 1);
    }
  }
  for (const [line, count] of [...counts].toSorted(([left], [right]) => left.localeCompare(right)))
    process.stdout.write(`${line}: ${count}\n`);
}
