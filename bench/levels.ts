/** Time-stamps compared with raw signatures, and CAdES at its levels with our own authority. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KeepAliveClient } from './keep-alive-client.ts';
import { measureLoad } from './native-tools.ts';
import { plainLoad, rateOf } from './plain-load.ts';
import { postTimeStamp } from './public-requests.ts';
import type { Quickstart } from './quickstart-description.ts';
import { ServiceClient, type Reference } from './service-client.ts';
import { signetdPids } from './signetd-processes.ts';

const connections = 32;
const length = { seconds: 4, warmup: 1 };
const rounds = 3;
const goal = 0.7;
const signers = 100;
const content = randomBytes(768).toString('base64');
const levels = {
  B: {},
  T: { timeStamp: {} },
  LT: { timeStamp: {}, longTermValidation: {} },
  LTA: { timeStamp: {}, longTermValidation: { archiveTimeStamp: true } },
};

/** Returns lines of text; the goal is shown, not enforced. Keys are P-256. */
export async function levelLines(quickstart: Quickstart, directory: string, say: (line: string) => void): Promise<string[]> {
  const service = new ServiceClient(quickstart, quickstart.clients.other);
  const key = await service.createKey();
  try {
    const raw = { rawSignature: {} };
    const rates = async (parameters: object): Promise<number> => signaturesPerSecond(quickstart, directory, requestOf(key, parameters));
    say('time-stamps and raw signatures, in turns');
    const [stamps, signatures]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      stamps.push(await timeStampsPerSecond(quickstart, directory));
      signatures.push(await rates(raw));
    }
    const [best, bestRaw] = [Math.max(...stamps), Math.max(...signatures)];
    const lines = [
      `time-stamps at /tsa: ${best.toFixed(0)}/s; raw signatures over mTLS: ${bestRaw.toFixed(0)}/s; ratio ${(best / bestRaw).toFixed(2)} (goal ${goal})`,
    ];
    for (const [level, members] of Object.entries(levels)) {
      say(`CAdES, level ${level}`);
      const rate = await rates({ XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } }, ...members } });
      lines.push(`CAdES detached, level ${level}: ${rate.toFixed(0)}/s, ${(rate / bestRaw).toFixed(2)} of raw signatures`);
    }
    say(`level LT of ${signers} signers`);
    lines.push(await manySignersLine(quickstart, service));
    return lines;
  } finally {
    await service.removeKey(key);
  }
}

function requestOf({ reference, password }: Reference, parameters: object): object {
  return { keyReference: { reference, password }, parameters, inputDocuments: [{ ID: 'd', base64Data: { base64Value: content } }] };
}

async function timeStampsPerSecond({ publicUrl }: Quickstart, directory: string): Promise<number> {
  const load = await plainLoad(directory, new URL(`${publicUrl}/tsa`), postTimeStamp(), { connections, ...length });
  if (load.otherStatus + load.unsigned + load.broken > 0) throw new Error(`some answers are not tokens: ${JSON.stringify(load)}`);
  return rateOf(load);
}

async function signaturesPerSecond(quickstart: Quickstart, directory: string, body: object): Promise<number> {
  const bodyFile = join(directory, 'level-request.json');
  writeFileSync(bodyFile, JSON.stringify(body), { mode: 0o600 });
  const target = {
    url: new URL(`${quickstart.signRoot}/signature/sign`, quickstart.baseUrl),
    client: quickstart.clients.other,
    caCertificate: quickstart.caCertificate,
    bodyFile,
    expected: '"resultMajor":0',
    pids: signetdPids(),
  };
  const { requestsPerSecond, errors, firstError } = await measureLoad(target, { connections, ...length });
  if (errors > 0) throw new Error(`signatures fail: ${firstError}`);
  return requestsPerSecond;
}

/** Measures twice: the second time, all caches about each signer are warm. */
async function manySignersLine(quickstart: Quickstart, service: ServiceClient): Promise<string> {
  const client = new KeepAliveClient(quickstart, quickstart.clients.other, 1);
  const keys: Reference[] = [];
  try {
    for (let index = 0; index < signers; index += 1) keys.push(await service.createKey());
    const times: number[] = [];
    for (let pass = 0; pass < 2; pass += 1) {
      const begun = performance.now();
      for (const key of keys) {
        const XP7Signature = { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } }, ...levels.LT };
        await client.call('signature/sign', requestOf(key, { XP7Signature }));
      }
      times.push((performance.now() - begun) / signers);
    }
    const [cold = 0, warm = 0] = times;
    return `level LT of ${signers} signers, one after the other: ${warm.toFixed(1)} ms each with warm caches, ${cold.toFixed(1)} ms the first time`;
  } finally {
    for (const key of keys) await service.removeKey(key);
    client.close();
  }
}
