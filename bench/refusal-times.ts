import { randomInt } from 'node:crypto';
import type { KeepAliveClient, KeyReference } from './keep-alive-client.ts';

const calls = 400;
const activationFailed = 202;
/**
 * Each round has four wrong secrets, and the token host compares 30 for one key
 * (token.wrongSecretsMax).
 */
const roundsOfOneKey = 7;
/** Above this, a difference is due to chance only once in a thousand times. */
const notable = 3.3;

interface Sample {
  readonly name: string;
  readonly times: number[];
}

/**
 * Checks that 2/202 takes the same time whatever was wrong: medians, and Welch's t of each kind
 * against a wrong password.
 */
export async function refusalTimes(client: KeepAliveClient): Promise<string[]> {
  const foreign = await client.create('PASSWORD');
  const samples: Sample[] = kindNames.map((name) => ({ name, times: [] }));
  let [key, references] = await keyWithReferences(client, foreign);
  for (let round = 0; round < calls / kindNames.length; round += 1) {
    if (round > 0 && round % roundsOfOneKey === 0) [key, references] = await keyWithReferences(client, foreign);
    // In random order, so that each kind has different predecessors.
    for (const index of shuffled(kindNames.length)) {
      const reference = references[index] ?? key;
      const started = performance.now();
      const minor = await client.sign(reference);
      samples[index]?.times.push(performance.now() - started);
      if (minor !== activationFailed) throw new Error(`a refusal was answered ${minor}`);
    }
    // Four failures: the correct secret resets the count before the key is locked.
    if ((await client.sign(key)) !== 0) throw new Error('the right password was refused');
  }
  const [first] = samples;
  if (first === undefined) return [];
  return samples.map((sample) => {
    const t = welch(sample.times, first.times);
    const verdict =
      sample === first
        ? ''
        : `, t ${t.toFixed(2)} against ${first.name} (${Math.abs(t) < notable ? 'no significant difference' : 'a difference'})`;
    return `2/202 for ${sample.name}, ${sample.times.length} calls: mean ${mean(sample.times).toFixed(2)} ms, median ${median(sample.times).toFixed(2)} ms${verdict}`;
  });
}

const kindNames = ['a wrong password', 'a superseded OTP', "another key's password", 'a wrong transaction'] as const;

/** Creates a key and returns it with one wrong activation of each kind. */
async function keyWithReferences(client: KeepAliveClient, foreign: KeyReference): Promise<[KeyReference, readonly KeyReference[]]> {
  const key = await client.create('PASSWORD', { transactionId: 'T-1' });
  const superseded = await client.otp(key);
  await client.otp(key);
  const wrong = [
    { ...key, password: 'wrong' },
    { ...key, password: superseded },
    { ...key, password: foreign['password'] ?? '' },
    { ...key, transactionId: 'T-2' },
  ];
  return [key, wrong];
}

function shuffled(length: number): number[] {
  return Array.from({ length }, (_, index) => ({ index, place: randomInt(2 ** 32) }))
    .toSorted((left, right) => left.place - right.place)
    .map(({ index }) => index);
}

/**
 * Returns Welch's t statistic without the slowest twentieth, which are due to pauses of the
 * machine.
 */
function welch(left: readonly number[], right: readonly number[]): number {
  const [a, b] = [trimmed(left), trimmed(right)];
  return (mean(a) - mean(b)) / Math.sqrt(variance(a) / a.length + variance(b) / b.length);
}

function trimmed(values: readonly number[]): number[] {
  return values.toSorted((left, right) => left - right).slice(0, Math.ceil(values.length * 0.95));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function variance(values: readonly number[]): number {
  const center = mean(values);
  return values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1);
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
