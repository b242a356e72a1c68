/**
 * CAdES over a file of 300 MB compared with `openssl dgst`, 100 documents in one request, and the
 * same file through the transfer store if there is one.
 */
import { execFileSync } from 'node:child_process';
import { createPrivateKey, createPublicKey, randomBytes, sign, type KeyObject } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCertificateText, type Certificate } from '../src/x509/certificate.ts';
import { usualProperties } from '../src/signatures/request/signed-properties.ts';
import { prepareSignatures } from '../src/signatures/prepare-signatures.ts';
import { completeSignatures, type SignerPlan } from '../src/signatures/signatures.ts';
import { WorkThreads } from '../src/threads/work-threads.ts';
import type { Quickstart } from './quickstart-description.ts';
import { ServiceClient } from './service-client.ts';
import { residentMebibytes } from './signetd-processes.ts';
import { upload } from './stored-file.ts';

const mebibyte = 1024 * 1024;
const fileBytes = 300_000_000;
const rounds = 5;
const documentsInOne = 100;
const ratioGoal = 1.5;
const memoryGoalMebibytes = 100;

/** Returns lines of text; goals are shown, not enforced. */
export async function reportCades(quickstart: Quickstart, say: (line: string) => void): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-bench-cades-'));
  try {
    say('CAdES over a file of 300 MB');
    const path = join(directory, 'content');
    writeRandom(path);
    const lines = await formatLines(path, directory);
    lines.push(await manyDocumentsLine(quickstart));
    if (quickstart.ftmRoot !== undefined) lines.push(await transferLine(quickstart, quickstart.ftmRoot, path));
    return lines;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function writeRandom(path: string): void {
  const descriptor = openSync(path, 'w');
  try {
    for (let written = 0; written < fileBytes; written += 10_000_000) writeSync(descriptor, randomBytes(10_000_000));
  } finally {
    closeSync(descriptor);
  }
}

const noLevels = {
  order: (): never => {
    throw new Error('no level was asked for');
  },
};

async function formatLines(path: string, directory: string): Promise<string[]> {
  const { certificate, privateKey } = selfSigned(directory);
  const publicKey = createPublicKey({ key: Buffer.from(certificate.subjectPublicKeyInfo), format: 'der', type: 'spki' });
  const algorithm = { scheme: 'ECDSA', hash: 'sha256' } as const;
  const plan: SignerPlan = {
    ...{ format: 'cms', isText: false, algorithm, level: undefined },
    chain: { certificate, publicKey, issuers: [certificate.der] },
    parameters: { algorithm, detached: true, properties: usualProperties, coSigning: 'NEVER' },
  };
  const threads = new WorkThreads();
  const descriptor = openSync(path, 'r');
  const signDetached = async (bytes: number): Promise<void> => {
    const documents = [{ id: 'd', fileName: undefined, source: { content: { descriptor, bytes } } }];
    const signatures = await prepareSignatures(plan, documents, threads);
    const values = new Map(
      signatures.prepared.map(({ id, dataToSign }) => [
        id,
        sign('sha256', dataToSign ?? Buffer.alloc(0), { key: privateKey, dsaEncoding: 'ieee-p1363' }),
      ]),
    );
    await completeSignatures(signatures, values, { threads, levels: noLevels });
  };
  try {
    // The first call starts the thread and brings the file into the page cache.
    await signDetached(mebibyte);
    execFileSync('openssl', ['dgst', '-sha256', path]);
    const idle = process.memoryUsage().rss;
    let peak = idle;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
    const times = { openssl: [] as number[], signetd: [] as number[] };
    for (let round = 0; round < rounds; round += 1) {
      times.openssl.push(await msOf(() => void execFileSync('openssl', ['dgst', '-sha256', path])));
      times.signetd.push(await msOf(async () => signDetached(fileBytes)));
    }
    clearInterval(watch);
    const [theirs, ours] = [Math.min(...times.openssl), Math.min(...times.signetd)];
    const memory = (peak - idle) / mebibyte;
    return [
      `CAdES detached over a file of ${fileBytes / 1e6} MB, the format in its thread: ${ours.toFixed(0)} ms; openssl dgst -sha256: ${theirs.toFixed(0)} ms; ` +
        `ratio ${(ours / theirs).toFixed(2)} (goal ${ratioGoal}); memory over idle ${memory.toFixed(0)} MiB (goal ${memoryGoalMebibytes} MiB)`,
    ];
  } finally {
    closeSync(descriptor);
    await threads.stop();
  }
}

function selfSigned(directory: string): { certificate: Certificate; privateKey: KeyObject } {
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  const options = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=bench', '-days', '1'];
  execFileSync('openssl', ['req', ...options, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  return { certificate: readCertificateText(readFileSync(certificate, 'utf8')), privateKey: createPrivateKey(readFileSync(key)) };
}

async function manyDocumentsLine(quickstart: Quickstart): Promise<string> {
  const service = new ServiceClient(quickstart, quickstart.clients.other);
  const keyReference = await service.createKey();
  try {
    const documents = (count: number): object[] =>
      Array.from({ length: count }, (_, index) => ({ ID: `d${index}`, base64Data: { base64Value: randomBytes(1024).toString('base64') } }));
    const body = (count: number): object => ({ keyReference, parameters: detachedCades, inputDocuments: documents(count) });
    await service.answerBytes('signature/sign', body(documentsInOne));
    const one = await best(async () => void (await service.answerBytes('signature/sign', body(1))));
    const many = await best(async () => void (await service.answerBytes('signature/sign', body(documentsInOne))));
    return (
      `CAdES detached, P-256, ${documentsInOne} documents of 1 KiB in one request: ${many.toFixed(0)} ms, ` +
      `${(many / documentsInOne).toFixed(2)} ms each; one in a request: ${one.toFixed(1)} ms (on a new connection)`
    );
  } finally {
    await service.removeKey(keyReference);
  }
}

const detachedCades = { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } };

/**
 * Signs as a caller would: uploads the file, signs it in place, and gets the signature in the
 * answer.
 */
async function transferLine(quickstart: Quickstart, ftmRoot: string, path: string): Promise<string> {
  const service = new ServiceClient(quickstart, quickstart.clients.app);
  const keyReference = await service.createKey();
  try {
    const begin = performance.now();
    const { fileID, fileSize } = await upload(quickstart, ftmRoot, path);
    const uploadSeconds = (performance.now() - begin) / 1000;
    const inputDocuments = [{ ID: 'd', FTMData: { fileID, fileSize } }];
    const idle = residentMebibytes();
    let peak = idle;
    const watch = setInterval(() => (peak = Math.max(peak, residentMebibytes())), 20);
    const ours = await best(
      async () => void (await service.answerBytes('signature/sign', { keyReference, parameters: detachedCades, inputDocuments })),
    );
    clearInterval(watch);
    const theirs = await best(() => void execFileSync('openssl', ['dgst', '-sha256', path]));
    return (
      `CAdES detached over ${fileBytes / 1e6} MB by the transfer store: ${ours.toFixed(0)} ms, ratio to openssl dgst ${(ours / theirs).toFixed(2)} (goal ${ratioGoal}); ` +
      `memory of the service over idle ${(peak - idle).toFixed(0)} MiB (goal ${memoryGoalMebibytes} MiB); upload ${(fileBytes / 1e6 / uploadSeconds).toFixed(0)} MB/s`
    );
  } finally {
    await service.removeKey(keyReference);
  }
}

async function best(work: () => void | Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) times.push(await msOf(work));
  return Math.min(...times);
}

async function msOf(work: () => void | Promise<void>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}
