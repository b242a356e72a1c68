/** 2D-Doc: zones and pictures, compared with raw signatures by a key of the same curve. */
import { z } from 'zod';
import { billSource } from '../src/quickstart/first-code.ts';
import { readSource } from '../src/twoddoc/source/read-source.ts';
import { zoneOf } from '../src/twoddoc/zone/zone-of.ts';
import { serverCpuPerRequest, type Load } from './native-tools.ts';
import type { Quickstart } from './quickstart-description.ts';
import { ServiceClient, type Reference } from './service-client.ts';
import { loadOf, type Work } from './work.ts';

const imagesPerSecondGoal = 300;
const length = { seconds: 4, warmup: 1 };
const busyConnections = [8, 32];
const rounds = 3;

/** A request with a goal. */
interface Judged extends Work {
  /** Goal of the median time with one connection. */
  readonly goalMs?: number;
}

type Identity = NonNullable<Quickstart['twoDDoc']>;

/** Returns lines of text; goals are shown, not enforced. */
export async function twoDDocLines(quickstart: Quickstart, directory: string, say: (line: string) => void): Promise<string[]> {
  const { doc2dRoot, twoDDoc, clients } = quickstart;
  if (doc2dRoot === undefined || twoDDoc === undefined) return ['2D-Doc is not measured: this quickstart is of an earlier version'];
  const service = new ServiceClient(quickstart, clients.other);
  const key = await service.createKey();
  try {
    const raw = rawWork(quickstart, key);
    const works = await works2DDoc(quickstart, `${doc2dRoot}/creator`, twoDDoc);
    const load = async (work: Judged, connections: number): Promise<Load> =>
      loadOf({ quickstart, scratch: directory }, work, { connections, ...length });
    say('2D-Doc and raw signatures, in turns');
    const lines = await latencyLines([raw, ...works], async (work) => (await load(work, 1)).p50Milliseconds);
    for (const connections of busyConnections) {
      say(`2D-Doc, connections: ${connections}`);
      const { requestsPerSecond: limit } = await load(raw, connections);
      for (const work of works) lines.push(rateLine(work, await load(work, connections), limit));
    }
    return lines;
  } finally {
    await service.removeKey(key);
  }
}

function rawWork({ signRoot, clients }: Quickstart, keyReference: Reference): Work {
  return {
    ...{ name: 'raw signature, P-256', client: clients.other, path: `${signRoot}/signature/sign`, expected: '"resultMajor":0' },
    body: {
      keyReference,
      parameters: { rawSignature: {} },
      inputDocuments: [{ ID: 'd', base64Data: { base64Value: base64(billSource) } }],
    },
  };
}

/** The operations of 2D-Doc for the bill of the quickstart. `root`: path of the operations. */
export async function works2DDoc(quickstart: Quickstart, root: string, identity: Identity): Promise<readonly Judged[]> {
  const { password } = identity;
  const dataZoneSource = { source: base64(billSource) };
  const common = { client: quickstart.clients.app, expected: '"majorCode":0' };
  const signedCode = await codeOf(quickstart, identity);
  const drawn = (image2DDocSource: object): Pick<Work, 'path' | 'body'> => ({
    path: `${root}/createImage2DDoc`,
    body: { image2DDocSource },
  });
  return [
    { ...common, name: 'createDataZone', path: `${root}/createDataZone`, body: { dataZoneSource } },
    { ...common, name: 'createImage2DDoc without signing', ...drawn({ signedCode }), goalMs: 10 },
    { ...common, name: 'createImage2DDoc with signing', ...drawn({ dataZoneSignatureSource: { password, dataZoneSource } }), goalMs: 12 },
  ];
}

const Signed = z.object({ evidenceObject: z.object({ document: z.object({ base64Data: z.object({ base64Value: z.string() }) }) }) });

/** Has the identity sign the zone of the bill, and returns the code in base64. */
async function codeOf(quickstart: Quickstart, { caId: ca, certificateId: certificate, ...key }: Identity): Promise<string> {
  const zone = zoneOf(readSource(Buffer.from(billSource)), { ca, certificate, today: new Date() });
  const answer = await new ServiceClient(quickstart, quickstart.clients.app).answer('signature/sign', {
    keyReference: { reference: key.keyReference, password: key.password },
    parameters: { code2DDocSignature: {} },
    inputDocuments: [{ ID: 'd', base64Data: { base64Value: Buffer.from(zone).toString('base64') } }],
  });
  return Signed.parse(answer).evidenceObject.document.base64Data.base64Value;
}

async function latencyLines(works: readonly Judged[], p50Of: (work: Judged) => Promise<number>): Promise<string[]> {
  const best = new Map(works.map((work) => [work, Infinity]));
  for (let round = 0; round < rounds; round += 1)
    for (const work of works) best.set(work, Math.min(best.get(work) ?? Infinity, await p50Of(work)));
  const [[raw, limit] = [undefined, Number.NaN], ...others] = best;
  return others.map(([{ name, goalMs }, p50]) => {
    const goal = goalMs === undefined ? '' : ` (goal ${goalMs} ms, ratio ${(p50 / goalMs).toFixed(2)})`;
    return `${name}, 1 connection: p50 ${p50.toFixed(2)} ms${goal}; ${raw?.name ?? ''} ${limit.toFixed(2)} ms, ratio ${(p50 / limit).toFixed(2)}`;
  });
}

/** `limit`: raw signatures a second. */
function rateLine({ name, goalMs }: Judged, load: Load, limit: number): string {
  const { connections, requestsPerSecond: rate, p50Milliseconds } = load;
  const goal = goalMs === undefined ? '' : ` (goal ${imagesPerSecondGoal}, ratio ${(rate / imagesPerSecondGoal).toFixed(2)})`;
  const cpu = (serverCpuPerRequest(load) * 1e6).toFixed(0);
  return `${name}, ${connections} connections: ${rate.toFixed(0)}/s${goal}, p50 ${p50Milliseconds.toFixed(1)} ms, ${cpu} µs of processor time each; raw signatures ${limit.toFixed(0)}/s, ratio ${(rate / limit).toFixed(2)}`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
