import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { startBareServer } from './bare-server-process.ts';
import type { Client, Quickstart } from './quickstart-description.ts';
import { createScratchCertificates } from './scratch-certificates.ts';
import { ServiceClient } from './service-client.ts';
import { signetdPids } from './signetd-processes.ts';

const fileBytes = 300_000_000;
const rounds = 3;
const sampleMs = 50;

interface Figures {
  readonly uploadSeconds: number;
  readonly downloadSeconds: number;
}

/** Sends a body in pieces, as fast as it is accepted, and returns the response. */
async function exchange(url: URL, agent: Agent, method: 'POST' | 'GET' | 'DELETE', bytes = 0): Promise<IncomingMessage> {
  const piece = Buffer.alloc(256 * 1024, 'signetd');
  return new Promise((resolve, reject) => {
    const headers = method === 'POST' ? { 'Content-Length': bytes } : { 'Content-Length-Wanted': fileBytes };
    const sent = request(url, { agent, method, headers }, resolve);
    sent.on('error', reject);
    let left = bytes;
    const write = (): void => {
      while (left > 0) {
        const part = piece.subarray(0, left);
        left -= part.length;
        if (!sent.write(part)) {
          sent.once('drain', write);
          return;
        }
      }
      sent.end();
    };
    write();
  });
}

async function received(answer: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of answer) bytes += Buffer.isBuffer(chunk) ? chunk.length : 0;
  return bytes;
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) / 1000;
}

function agentOf({ certificate, key }: Client, caCertificate: string): Agent {
  return new Agent({ keepAlive: true, cert: readFileSync(certificate), key: readFileSync(key), ca: readFileSync(caCertificate) });
}

/** Returns the best of several rounds: other work on the machine makes it slower, never faster. */
async function measure(files: URL, agent: Agent, between: (fileID: string) => Promise<void>): Promise<Figures> {
  let best: Figures = { uploadSeconds: Infinity, downloadSeconds: Infinity };
  for (let round = 0; round < rounds; round += 1) {
    let file = files;
    let fileID = '';
    const uploadSeconds = await seconds(async () => {
      const answer = await text(await exchange(files, agent, 'POST', fileBytes));
      fileID = /"fileID":"([^"]+)"/.exec(answer)?.[1] ?? '';
      if (fileID !== '') file = new URL(`${files.href}/${fileID}`);
    });
    await between(fileID);
    const downloadSeconds = await seconds(async () => {
      if ((await received(await exchange(file, agent, 'GET'))) !== fileBytes) throw new Error('the downloaded file is not complete');
    });
    if (fileID !== '') await received(await exchange(file, agent, 'DELETE'));
    best = { uploadSeconds: Math.min(best.uploadSeconds, uploadSeconds), downloadSeconds: Math.min(best.downloadSeconds, downloadSeconds) };
  }
  return best;
}

function residentBytes(pids: readonly number[]): number {
  return pids.reduce(
    (total, pid) => total + 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0),
    0,
  );
}

/**
 * Compares upload and download of a large file with a bare HTTPS server, and measures the growth of
 * the daemon's memory over it and a detached CAdES.
 */
export async function transferLines(quickstart: Quickstart, directory: string): Promise<string[]> {
  const { app } = quickstart.clients;
  const service = new ServiceClient(quickstart, app);
  const keyReference = await service.createKey();
  const pids = signetdPids();
  const idle = residentBytes(pids);
  let peak = idle;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentBytes(pids));
  }, sampleMs);
  let signSeconds = Infinity;
  const files = new URL(`${quickstart.ftmRoot ?? '/ftm'}/files`, quickstart.baseUrl);
  const own = await measure(files, agentOf(app, quickstart.caCertificate), async (fileID) => {
    const parameters = { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } };
    const inputDocuments = [{ ID: 'd', FTMData: { fileID, fileSize: fileBytes } }];
    const took = await seconds(async () => {
      await service.answerBytes('signature/sign', { keyReference, parameters, inputDocuments });
    });
    signSeconds = Math.min(signSeconds, took);
  });
  clearInterval(sampling);
  await service.removeKey(keyReference);
  const certificates = createScratchCertificates(directory);
  const server = await startBareServer(certificates, 1024);
  let bare: Figures;
  try {
    const agent = agentOf(certificates.client, certificates.caCertificate);
    bare = await measure(new URL('/files', server.url), agent, async () => Promise.resolve());
    agent.destroy();
  } finally {
    await server.stop();
  }
  const megabytes = fileBytes / 1e6;
  const rate = (took: number): string => `${(megabytes / took).toFixed(0)} MB/s`;
  return [
    `transfer store, ${megabytes} MB: upload ${rate(own.uploadSeconds)} (${(bare.uploadSeconds / own.uploadSeconds).toFixed(2)} of a bare server that stores nothing, ` +
      `${rate(bare.uploadSeconds)}), download ${rate(own.downloadSeconds)} (${(bare.downloadSeconds / own.downloadSeconds).toFixed(2)} of ${rate(bare.downloadSeconds)})`,
    `detached CAdES over it: ${signSeconds.toFixed(2)} s; peak memory during all of this ${((peak - idle) / 1e6).toFixed(0)} MB above the ${(idle / 1e6).toFixed(0)} MB before (goal 100)`,
  ];
}
