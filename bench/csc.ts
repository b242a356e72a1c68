/**
 * Signatures in two requests: `credentials/authorize` and `signatures/signHash` of the Cloud
 * Signature Consortium, `sendOTP` and `sign` of the interface. The limit of both is `sign` by
 * password, one request, measured in turns with them by the same client.
 */
import { z } from 'zod';
import { KeepAliveClient, type KeyReference, type Protocol } from './keep-alive-client.ts';
import type { Quickstart } from './quickstart-description.ts';
import { cpuSeconds } from './signetd-processes.ts';

const connectionCounts = [1, 8];
const seconds = 3;
const warmupSeconds = 1;
const rounds = 3;
const hash = 'n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=';
const hashOid = '2.16.840.1.101.3.4.2.1';
const keyTypes = {
  'P-256': { client: 'other', signAlgo: '1.2.840.10045.4.3.2' },
  'RSA-2048': { client: 'app', signAlgo: '1.2.840.113549.1.1.11' },
} as const;

const Authorised = z.object({ SAD: z.string() });
const Signed = z.object({ signatures: z.tuple([z.string()]) });

interface Work {
  readonly name: string;
  readonly protocol: Protocol;
  /** Makes one signature. @throws {Error} if it is refused */
  readonly sign: (key: KeyReference) => Promise<void>;
}

interface Figures {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly cpuMicroseconds: number;
}

/** Returns lines of text. */
export async function cscLines(quickstart: Quickstart, say: (line: string) => void): Promise<string[]> {
  const { cscRoot, clients } = quickstart;
  if (cscRoot === undefined) return ['the CSC API is not measured: the quickstart does not offer it'];
  const lines: string[] = [];
  for (const [type, { client: name, signAlgo }] of Object.entries(keyTypes)) {
    const client = new KeepAliveClient(quickstart, clients[name], Math.max(...connectionCounts));
    try {
      const works = worksOf(client, cscRoot, signAlgo);
      for (const connections of connectionCounts) {
        say(`signatures in two requests, ${type}, connections: ${connections}`);
        lines.push(...(await linesOf(client, works, { type, connections })));
      }
    } finally {
      client.close();
    }
  }
  return lines;
}

/** The limit first. */
function worksOf(client: KeepAliveClient, cscRoot: string, signAlgo: string): readonly Work[] {
  return [
    { name: 'sign by password', protocol: 'PASSWORD', sign: async (key) => expectSuccess(await client.sign(key, true)) },
    {
      name: 'sendOTP + sign',
      protocol: 'OTP',
      sign: async (key) => expectSuccess(await client.sign({ ...key, password: await client.otp(key) }, true)),
    },
    {
      name: 'authorize + signHash',
      protocol: 'PASSWORD',
      async sign({ reference: credentialID, password: value }) {
        const common = { credentialID, hashes: [hash], hashAlgorithmOID: hashOid };
        const asked = { ...common, numSignatures: 1, authData: [{ id: 'PIN', value }] };
        const { SAD } = Authorised.parse(await client.post(`${cscRoot}/v2/credentials/authorize`, asked));
        Signed.parse(await client.post(`${cscRoot}/v2/signatures/signHash`, { ...common, SAD, signAlgo }));
      },
    },
  ];
}

function expectSuccess(minor: number): void {
  if (minor !== 0) throw new Error(`a signature was answered ${minor}`);
}

async function linesOf(
  client: KeepAliveClient,
  works: readonly Work[],
  { type, connections }: { readonly type: string; readonly connections: number },
): Promise<string[]> {
  const measured = new Map<Work, Figures[]>();
  const keys = new Map<Work, KeyReference[]>();
  // A key has one attempt with a one-time password at a time, so each connection has its own.
  for (const work of works)
    keys.set(work, await Promise.all(Array.from({ length: connections }, async () => client.create(work.protocol))));
  for (let round = 0; round < rounds; round += 1)
    for (const work of works) measured.set(work, [...(measured.get(work) ?? []), await measure(work, keys.get(work) ?? [])]);
  const [limit] = [...measured.values()].map(medians);
  return [...measured].map(([{ name }, figures]) => {
    const { perSecond, p50Ms, cpuMicroseconds } = medians(figures);
    const share = (perSecond / (limit?.perSecond ?? Number.NaN)).toFixed(2);
    const cost = (cpuMicroseconds / (limit?.cpuMicroseconds ?? Number.NaN)).toFixed(2);
    return (
      `${name}, ${type}, ${connections} connection${connections === 1 ? '' : 's'}: ${perSecond.toFixed(0)}/s, ${share} of sign by password; p50 ${p50Ms.toFixed(2)} ms; ` +
      `${cpuMicroseconds.toFixed(0)} µs of processor time each, ${cost} times that of sign by password`
    );
  });
}

/** Signs with each key, one signature after the other. */
async function measure({ sign }: Work, keys: readonly KeyReference[]): Promise<Figures> {
  const counted = performance.now() + warmupSeconds * 1000;
  const end = counted + seconds * 1000;
  const times: number[] = [];
  let cpuBefore: number | undefined;
  await Promise.all(
    keys.map(async (key) => {
      for (let start = performance.now(); start < end;) {
        await sign(key);
        const now = performance.now();
        if (start >= counted) {
          cpuBefore ??= cpuSeconds();
          if (now <= end) times.push(now - start);
        }
        start = now;
      }
    }),
  );
  const cpu = cpuSeconds() - (cpuBefore ?? 0);
  return { perSecond: times.length / seconds, p50Ms: median(times), cpuMicroseconds: (cpu * 1e6) / times.length };
}

function medians(figures: readonly Figures[]): Figures {
  const of = (member: keyof Figures): number => median(figures.map((one) => one[member]));
  return { perSecond: of('perSecond'), p50Ms: of('p50Ms'), cpuMicroseconds: of('cpuMicroseconds') };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
