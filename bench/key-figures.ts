import { setTimeout as delay } from 'node:timers/promises';
import { withFilledStore } from './filled-store.ts';
import { KeepAliveClient, type KeyReference } from './keep-alive-client.ts';
import type { Quickstart } from './quickstart-description.ts';
import { refusalTimes } from './refusal-times.ts';

const connections = 8;
const seconds = 4;
const poolKeys = 8;
const poolRounds = 3;
const poolWaitMs = 60_000;
const oneTimeSecrets = 200;
const manyKeys = 9_900;
const clientOf = { 'RSA-2048': 'app', 'P-256': 'other' } as const satisfies Record<string, keyof Quickstart['clients']>;
type KeyType = keyof typeof clientOf;

/** Returns figures on issuance and activation, as lines of text; goals are shown, not enforced. */
export async function reportKeys(quickstart: Quickstart, say: (line: string) => void): Promise<string[]> {
  const lines: string[] = [];
  for (const type of ['P-256', 'RSA-2048'] as const) {
    say(`createCertificate from the pool, ${type}`);
    const times = await issuanceTimes(quickstart, type);
    lines.push(
      `createCertificate, ${type} from the pool, one at a time: p50 ${ms(median(times))} (goal 20 ms), slowest ${ms(Math.max(...times))}`,
    );
  }
  const client = new KeepAliveClient(quickstart, quickstart.clients.other, connections);
  try {
    say('createCertificate, P-256, sustained');
    const issued = await perSecond(async () => client.create('OTP'));
    lines.push(
      `createCertificate, P-256, sustained, ${connections} connections: ${issued.toFixed(0)}/s (goal 100/s); limited by key generation on the token once the pool is empty`,
    );
    say('signatures by each secret');
    const few = await signatureRates(client);
    say(`the same with ${manyKeys} more keys in the store`);
    const many = await withFilledStore(quickstart.configFile, manyKeys, async () => signatureRates(client));
    for (const [secret, rate] of Object.entries(few)) {
      const other = many[secret as keyof typeof many];
      lines.push(
        `sign by ${secret}, P-256, ${connections} connections: ${rate.toFixed(0)}/s; with ${manyKeys} more keys in the store ${other.toFixed(0)}/s, ` +
          `${(other / rate).toFixed(2)} (goal 0.90)`,
      );
    }
    say('refusals, by time');
    lines.push(...(await refusalTimes(client)));
  } finally {
    client.close();
  }
  return lines;
}

async function issuanceTimes(quickstart: Quickstart, type: KeyType): Promise<number[]> {
  const client = new KeepAliveClient(quickstart, quickstart.clients[clientOf[type]], 1);
  const times: number[] = [];
  try {
    for (let round = 0; round < poolRounds; round += 1) {
      await fullPool(quickstart, type);
      for (let count = 0; count < poolKeys; count += 1) {
        const started = performance.now();
        await client.create('OTP');
        times.push(performance.now() - started);
      }
    }
  } finally {
    client.close();
  }
  return times;
}

async function fullPool({ opsUrl }: Quickstart, type: KeyType): Promise<void> {
  const deadline = performance.now() + poolWaitMs;
  for (;;) {
    const metrics = await (await fetch(`${opsUrl}/metrics`)).text();
    const level = Number(new RegExp(`^signetd_key_pool_keys\\{type="${type}"\\} (\\d+)$`, 'm').exec(metrics)?.[1] ?? 0);
    if (level >= poolKeys) return;
    if (performance.now() > deadline) throw new Error(`the pool of ${type} is not filled`);
    await delay(200);
  }
}

async function signatureRates(client: KeepAliveClient): Promise<{ password: number; OTP: number; authToken: number }> {
  const owned = await client.create('PASSWORD');
  const password = await perSecond(async () => expectSuccess(await client.sign(owned)));
  const otps = await prepared(async () => {
    const key = await client.create('OTP');
    return { ...key, password: await client.otp(key) };
  });
  const OTP = await spent(otps, async (key) => expectSuccess(await client.sign(key, true)));
  const tokens = await prepared(async () => client.create('SINGLE_USE'));
  return { password, OTP, authToken: await spent(tokens, async (key) => expectSuccess(await client.sign(key))) };
}

function expectSuccess(minor: number): void {
  if (minor !== 0) throw new Error(`a signature was answered ${minor}`);
}

async function prepared(make: () => Promise<KeyReference>): Promise<KeyReference[]> {
  const made: KeyReference[] = [];
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (made.length < oneTimeSecrets) made.push(await make());
    }),
  );
  return made;
}

/** Uses each secret once, at full speed. */
async function spent(keys: KeyReference[], use: (key: KeyReference) => Promise<void>): Promise<number> {
  const left = [...keys];
  const started = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let key = left.pop(); key !== undefined; key = left.pop()) await use(key);
    }),
  );
  return keys.length / ((performance.now() - started) / 1000);
}

async function perSecond(work: () => Promise<unknown>): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let done = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < end) {
        await work();
        done += 1;
      }
    }),
  );
  return done / seconds;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const ms = (value: number): string => `${value.toFixed(1)} ms`;
