/** PAdES: files by the transfer store compared with hashing and copying them, small documents with raw signatures, and both with pyHanko. */
import { createHash } from 'node:crypto';
import { closeSync, copyFileSync, fsyncSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { measureLoad, serverCpuPerRequest } from './native-tools.ts';
import { writePdf } from './pdf-file.ts';
import { PyHanko } from './pyhanko.ts';
import type { Quickstart } from './quickstart-description.ts';
import { ServiceClient, type Reference } from './service-client.ts';
import { cpuSeconds, residentMebibytes, signetdPids } from './signetd-processes.ts';
import { deleteStored, upload } from './stored-file.ts';

/** Sizes in megabytes, with the signatures of each. */
const files = [
  { megabytes: 0.1, rounds: 20 },
  { megabytes: 10, rounds: 10 },
  { megabytes: 100, rounds: 5 },
];
const goals = { secondsBeyond: 0.5, mebibytes: 60, small: 2, pyHanko: 10 };
const connections = 8;
const length = { seconds: 5, warmup: 2 };
const rounds = 3;
const parameters = { XP7Signature: { XP7Format: 'PXP_7' } };

/** Returns lines of text; goals are shown, not enforced. */
export async function padesLines(quickstart: Quickstart, parent: string, say: (line: string) => void): Promise<string[]> {
  const directory = mkdtempSync(join(parent, 'pades-'));
  const service = new ServiceClient(quickstart, quickstart.clients.app);
  const small = new ServiceClient(quickstart, quickstart.clients.other);
  const [key, smallKey] = [await service.createKey(), await small.createKey()];
  try {
    const pyHanko = PyHanko.in(directory);
    const lines: string[] = [];
    if ('missing' in pyHanko) lines.push(`pyHanko is not compared: ${pyHanko.missing}`);
    for (const { megabytes, rounds: times } of files) {
      const path = join(directory, `${megabytes}.pdf`);
      writePdf(path, megabytes * 1e6);
      say(`PAdES over a file of ${megabytes} MB`);
      if (quickstart.ftmRoot !== undefined) lines.push(await fileLine(quickstart, quickstart.ftmRoot, key, { path, megabytes, times }));
      if (!('missing' in pyHanko)) {
        const { seconds, cpuSeconds: cpu, peakMebibytes } = await pyHanko.signed(path, times);
        lines.push(
          `  pyHanko, ${megabytes} MB, its own P-256 key on SoftHSM: ${ms(seconds)} ms, ${ms(cpu)} ms of processor time, ${peakMebibytes.toFixed(0)} MiB at most`,
        );
      }
    }
    say('PAdES over documents of 100 KB and raw signatures, in turns');
    const path = join(directory, '0.1.pdf');
    const { ours, raw } = await smallFigures(quickstart, directory, smallKey, readFileSync(path));
    const ratio = (ours / raw).toFixed(2);
    lines.push(
      `PAdES B, 100 KB, P-256: ${(ours * 1e6).toFixed(0)} µs of processor time each; raw signature ${(raw * 1e6).toFixed(0)} µs; ratio ${ratio} (goal ${goals.small})`,
    );
    if (!('missing' in pyHanko)) {
      const { cpuSeconds: cpu } = await pyHanko.signed(path, 50);
      lines.push(
        `  pyHanko, 100 KB: ${(cpu * 1e6).toFixed(0)} µs of processor time each, without a service; signetd makes ${(cpu / ours).toFixed(1)} times as many in a second of it (goal ${goals.pyHanko})`,
      );
    }
    return lines;
  } finally {
    await service.removeKey(key);
    await small.removeKey(smallKey);
    rmSync(directory, { recursive: true, force: true });
  }
}

interface BenchFile {
  readonly path: string;
  readonly megabytes: number;
  readonly times: number;
}

const Answer = z.object({ evidenceObject: z.object({ document: z.object({ FTMData: z.object({ fileID: z.string() }) }) }) });

/** Signs a file in the transfer store, into the transfer store. Hashing and copying is what nobody can leave out. */
async function fileLine(quickstart: Quickstart, ftmRoot: string, key: Reference, { path, megabytes, times }: BenchFile): Promise<string> {
  const service = new ServiceClient(quickstart, quickstart.clients.app);
  const { fileID, fileSize } = await upload(quickstart, ftmRoot, path);
  const body = {
    keyReference: key,
    parameters,
    inputDocuments: [{ ID: 'd', FTMData: { fileID, fileSize } }],
    optionalInputs: { evidenceOutput: { outputMode: 'FTM' } },
  };
  const made: string[] = [];
  const sign = async (): Promise<void> => {
    const answer = Answer.safeParse(await service.answer('signature/sign', body));
    if (!answer.success) throw new Error('a PDF in the transfer store was not signed');
    made.push(answer.data.evidenceObject.document.FTMData.fileID);
  };
  await sign();
  const idle = residentMebibytes();
  let peak = idle;
  const watch = setInterval(() => (peak = Math.max(peak, residentMebibytes())), 10);
  const [signing, least]: [number[], number[]] = [[], []];
  const before = cpuSeconds();
  try {
    for (let round = 0; round < times; round += 1) signing.push(await secondsOf(sign));
  } finally {
    clearInterval(watch);
  }
  const cpu = (cpuSeconds() - before) / times;
  for (let round = 0; round < times; round += 1) {
    least.push(
      await secondsOf(() => {
        hashAndCopy(path);
      }),
    );
  }
  for (const stored of [fileID, ...made]) await deleteStored(quickstart, ftmRoot, stored);
  const [ours, bare] = [Math.min(...signing), Math.min(...least)];
  const memory = peak - idle;
  const judged = megabytes >= 100;
  return (
    `PAdES B, ${megabytes} MB by the transfer store: ${ms(ours)} ms, ${ms(cpu)} ms of processor time; hashing and copying the file ${ms(bare)} ms; ` +
    `${(ours - bare).toFixed(3)} s beyond that${judged ? ` (goal ${goals.secondsBeyond}, ratio ${((ours - bare) / goals.secondsBeyond).toFixed(2)})` : ''}; ` +
    `memory over idle ${memory.toFixed(0)} MiB${judged ? ` (goal ${goals.mebibytes}, ratio ${(memory / goals.mebibytes).toFixed(2)})` : ''}`
  );
}

/** Hashes a file, and copies it onto the disk. */
function hashAndCopy(path: string): void {
  const hash = createHash('sha256');
  const [piece, descriptor] = [Buffer.alloc(1024 * 1024), openSync(path, 'r')];
  for (let count = readSync(descriptor, piece); count > 0; count = readSync(descriptor, piece)) hash.update(piece.subarray(0, count));
  closeSync(descriptor);
  hash.digest();
  copyFileSync(path, `${path}.copy`);
  const copy = openSync(`${path}.copy`, 'r+');
  fsyncSync(copy);
  closeSync(copy);
}

/** Processor time of the service for each signature, in seconds. */
async function smallFigures(
  quickstart: Quickstart,
  directory: string,
  key: Reference,
  document: Buffer,
): Promise<{ readonly ours: number; readonly raw: number }> {
  const service = new ServiceClient(quickstart, quickstart.clients.other);
  const bodyFile = join(directory, 'request.json');
  const inputDocuments = [{ ID: 'd', base64Data: { base64Value: document.toString('base64') } }];
  const each = async (asked: object): Promise<number> => {
    writeFileSync(bodyFile, JSON.stringify({ keyReference: key, parameters: asked, inputDocuments }), { mode: 0o600 });
    const target = { url: service.urlOf('signature/sign'), client: service.client, caCertificate: quickstart.caCertificate, bodyFile };
    const load = await measureLoad({ ...target, expected: '"resultMajor":0', pids: signetdPids() }, { connections, ...length });
    if (load.errors > 0) throw new Error(`${load.errors} errors; the first: ${load.firstError}`);
    return serverCpuPerRequest(load);
  };
  const [pades, raw]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    raw.push(await each({ rawSignature: {} }));
    pades.push(await each(parameters));
  }
  return { ours: Math.min(...pades), raw: Math.min(...raw) };
}

async function secondsOf(work: () => void | Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) / 1000;
}

function ms(seconds: number): string {
  return (seconds * 1000).toFixed(seconds < 0.1 ? 1 : 0);
}
