import { createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { Client, Quickstart } from './quickstart-description.ts';
import { createScratchCertificates } from './scratch-certificates.ts';

const connectionCounts = [1, 8, 32];
const seconds = 5;
const warmupSeconds = 1;
const content = Buffer.alloc(768, 'a document ').toString('base64');

const Prepared = z.object({
  signatureThreadId: z.string(),
  signerData: z.object({ digest: z.tuple([z.object({ id: z.string(), dataToSign: z.base64() })]) }),
});

/**
 * An external key with its certificate: a software key in this process stands in for the device.
 */
interface Device {
  readonly certificate: string;
  readonly key: KeyObject;
}

/**
 * Signatures per second in two steps: remotePreSign, a software key in this program, remoteSign.
 * Both calls use persistent connections, CAdES detached. The client also runs in Node on the same
 * machine, so the figures include both.
 */
export async function twoStepLines(quickstart: Quickstart, directory: string, say: (line: string) => void): Promise<string[]> {
  const { client } = createScratchCertificates(directory);
  const device = { certificate: readFileSync(client.certificate, 'utf8'), key: createPrivateKey(readFileSync(client.key)) };
  const lines = ['signatures in two steps (CAdES detached, P-256; both calls, and the value by a software key in the client)'];
  for (const connections of connectionCounts) {
    say(`two steps, connections: ${connections}`);
    const { perSecond, p50Ms, p99Ms } = await measure(quickstart, device, connections);
    const figures = `${perSecond.toFixed(0)}/s, median ${p50Ms.toFixed(1)} ms, 99 % ${p99Ms.toFixed(1)} ms`;
    lines.push(`  ${String(connections).padStart(2)} connections: ${figures}`);
  }
  return lines;
}

async function measure(
  quickstart: Quickstart,
  device: Device,
  connections: number,
): Promise<{ perSecond: number; p50Ms: number; p99Ms: number }> {
  const service = new TwoSteps(quickstart, quickstart.clients.app, connections);
  const times: number[] = [];
  const counted = performance.now() + warmupSeconds * 1000;
  const end = counted + seconds * 1000;
  const work = async (): Promise<void> => {
    for (let start = performance.now(); start < end;) {
      await service.sign(device);
      const now = performance.now();
      if (start >= counted && now <= end) times.push(now - start);
      start = now;
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, work));
  } finally {
    service.close();
  }
  const sorted = times.toSorted((a, b) => a - b);
  const quantile = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
  return { perSecond: times.length / seconds, p50Ms: quantile(0.5), p99Ms: quantile(0.99) };
}

class TwoSteps {
  readonly #quickstart: Quickstart;
  readonly #agent: Agent;

  constructor(quickstart: Quickstart, client: Client, connections: number) {
    this.#quickstart = quickstart;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: connections,
      cert: readFileSync(client.certificate),
      key: readFileSync(client.key),
      ca: readFileSync(quickstart.caCertificate),
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  async sign({ certificate, key }: Device): Promise<void> {
    const opened = await this.#post('signature/remotePreSign', {
      parameters: { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } },
      inputDocuments: [{ ID: 'd', base64Data: { base64Value: content } }],
      signerCertificate: certificate,
    });
    const { signatureThreadId, signerData } = Prepared.parse(JSON.parse(opened));
    const [{ id, dataToSign }] = signerData.digest;
    const signatureValue = sign('sha256', Buffer.from(dataToSign, 'base64'), key).toString('base64');
    const signatureValues = { signatureValueMapping: [{ id, signatureValue }] };
    await this.#post('signature/remoteSign', { signatureThreadId, signatureValues });
  }

  /** @throws {Error} unless it is answered with a success */
  async #post(operation: string, body: object): Promise<string> {
    const { resolve, reject, promise } = Promise.withResolvers<string>();
    const url = new URL(`${this.#quickstart.signRoot}/${operation}`, this.#quickstart.baseUrl);
    const options = { method: 'POST', headers: { 'Content-Type': 'application/json' }, agent: this.#agent };
    const sent = request(url, options, (response) => {
      text(response).then((answer) => {
        if (response.statusCode === 200 && answer.includes('"resultMajor":0')) resolve(answer);
        else reject(new Error(`${operation}: status ${response.statusCode}: ${answer.slice(0, 500)}`));
      }, reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
    return promise;
  }
}
