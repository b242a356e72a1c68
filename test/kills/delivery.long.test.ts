import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync, watch } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { openssl } from '../support/openssl.ts';
import { derOf, outsideAuthority, signOutside, type OutsideAuthority, type OutsideSigner } from '../support/outside-signer.ts';
import { agentOf, newCertificate, OwnService } from '../support/own-service.ts';
import { repetitions } from '../support/repetitions.ts';

const kills = repetitions(6);
const content = 'published only after its record';
const contentDigest = { digestAlgOID: '2.16.840.1.101.3.4.2.1' };

let service: OwnService;
let authority: OutsideAuthority;
let signer: OutsideSigner;
let writeDirectory: string;
let requests = 0;

beforeEach(async () => {
  authority = outsideAuthority();
  signer = authority.certify('P-256');
  service = await OwnService.start();
  writeDirectory = service.description.writeDirectory ?? '';
});

afterEach(async () => {
  await service.remove();
});

const Answer = z.object({
  result: z.object({ resultMajor: z.number().optional(), majorCode: z.number().optional() }),
  keyReference: z.object({ reference: z.string(), password: z.string().optional(), authToken: z.string().optional() }).optional(),
  password: z.string().optional(),
  signatureThreadId: z.string().optional(),
  signerData: z.object({ digest: z.array(z.object({ id: z.string(), digestValue: z.string() })) }).optional(),
  evidenceObject: z
    .object({
      document: z.object({
        filePathData: z.object({ filePath: z.string() }).optional(),
        FTMData: z.object({ fileID: z.string() }).optional(),
      }),
    })
    .optional(),
});
type Answer = z.output<typeof Answer>;

/** One request that delivers evidence. Its requestID names the document too, so that evidence tells where it is from. */
interface Delivery {
  readonly requestID: string;
  /** Of a key of the service: its secret is used up by the request. */
  readonly key: string | undefined;
  readonly protocol: Protocol;
}

const protocols = ['PASSWORD', 'OTP', 'SINGLE_USE', 'REMOTE'] as const;
type Protocol = (typeof protocols)[number];

const asked = new Map<string, Delivery>();
const acknowledged = new Map<string, Answer>();

/** Undefined where no answer came, or none of an operation. */
async function post(operation: string, body: object): Promise<Answer | undefined> {
  try {
    return Answer.parse(JSON.parse(await service.post(operation, body)));
  } catch {
    return undefined;
  }
}

const detached = { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } };

async function deliver(protocol: Protocol, outputMode: 'FILE_PATH' | 'FTM'): Promise<boolean> {
  requests += 1;
  const requestID = `delivery-${requests}`;
  const optionalInputs = { evidenceOutput: outputMode === 'FTM' ? { outputMode } : { outputMode, outputDirectory: writeDirectory } };
  const inputDocuments = [{ ID: 'd', fileName: requestID, plainData: { plainValue: content } }];
  const body = { parameters: detached, inputDocuments };
  let answer: Answer | undefined;
  if (protocol === 'REMOTE') {
    const signerCertificate = derOf(signer.certificate);
    const opened = await post('signature/remotePreSign', { ...body, signerCertificate, certificateChain: [derOf(authority.issuer)] });
    const [digest] = opened?.signerData?.digest ?? [];
    if (digest === undefined) return false;
    const value = signOutside(signer, digest.digestValue, { hash: 'sha256' });
    asked.set(requestID, { requestID, protocol, key: undefined });
    answer = await post('signature/remoteSign', {
      ...{ signatureThreadId: opened?.signatureThreadId, optionalInputs, requestID },
      signatureValues: { signatureValueMapping: [{ id: digest.id, signatureValue: value }] },
    });
  } else {
    const made = await post('pki/createCertificate', newCertificate(protocol));
    if (made?.keyReference === undefined) return false;
    const { reference } = made.keyReference;
    let keyReference: object = made.keyReference;
    if (protocol === 'OTP') {
      const digestValue = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(content))).toString('base64');
      const signerData = { digest: [{ id: 'd', ...contentDigest, digestValue }] };
      const otp = await post('pki/sendOTP', { action: 'SIGN', keyReference: reference, signerData });
      if (otp?.password === undefined) return false;
      keyReference = { reference, password: otp.password };
    }
    asked.set(requestID, { requestID, protocol, key: reference });
    answer = await post('signature/sign', { ...body, keyReference, optionalInputs, requestID });
  }
  if (answer === undefined) return false;
  if (answer.result.resultMajor === 0) acknowledged.set(requestID, answer);
  return true;
}

interface AuditRecord {
  readonly kind: string;
  readonly requestID?: string;
  readonly major?: number;
  readonly replayed?: string;
}

/** The requests that ended well by the audit log as it is on the disk. */
function recorded(): Set<string> {
  const directory = join(service.environment.directory, 'audit');
  const records = readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => JSON.parse(line) as AuditRecord);
  const well = records.filter(({ major, replayed }) => major === 0 || replayed !== undefined);
  return new Set(well.flatMap(({ requestID = '' }) => requestID));
}

/** The requests whose evidence can be read: at a final name, or in the transfer store. */
function published(database: DatabaseSync): string[] {
  const files = readdirSync(writeDirectory).filter((name) => name.startsWith('delivery-'));
  const transfers = database.prepare("select file_name from transfer_files where state = 'STORED'").all();
  return [...files, ...transfers.map((row) => String(row['file_name']))].map((name) => /^delivery-\d+/.exec(name)?.[0] ?? name);
}

/** What is wrong with the evidence that can be read at this moment. The service does not run, or is at rest. */
function faults(): string[] {
  const database = new DatabaseSync(join(service.environment.directory, 'state.sqlite'), { readOnly: true });
  try {
    const records = recorded();
    const used = (key: string | undefined, protocol: Protocol): boolean => {
      if (key === undefined || protocol === 'PASSWORD') return true;
      if (protocol === 'OTP') return database.prepare('select 1 from otps where reference = ?').get(key) === undefined;
      return database.prepare('select state from keys where reference = ?').get(key)?.['state'] === 'CONSUMED';
    };
    return published(database).flatMap((requestID) => {
      const delivery = asked.get(requestID);
      if (delivery === undefined) return [`${requestID} was never asked for`];
      const { key, protocol } = delivery;
      return [
        ...(records.has(requestID) ? [] : [`${requestID} (${protocol}) is published and has no record`]),
        ...(used(key, protocol) ? [] : [`${requestID} (${protocol}) is published and its secret is good still`]),
      ];
    });
  } finally {
    database.close();
  }
}

async function download(fileID: string): Promise<Buffer> {
  const agent = agentOf(service.description, 'other', { keepAlive: false });
  return new Promise((resolve, reject) => {
    const sent = request(`${service.baseUrl}${service.description.ftmRoot}/files/${fileID}`, { agent }, (response) => {
      if (response.statusCode === 200) buffer(response).then(resolve, reject);
      else reject(new Error(`status ${response.statusCode}`));
    });
    sent.on('error', reject);
    sent.end();
  });
}

it(
  `${kills} × kill -9: no evidence is published without its record and its used-up secret, and none that was acknowledged is missing`,
  async () => {
    const { daemon } = service;
    let over = false;
    const isOver = (): boolean => over;
    const work = async (protocol: Protocol, outputMode: 'FILE_PATH' | 'FTM'): Promise<void> => {
      while (!isOver()) if (!(await deliver(protocol, outputMode))) await delay(50);
    };
    const found: string[] = [];
    const appeared = async (): Promise<void> =>
      new Promise((resolve) => {
        const watcher = watch(writeDirectory, (_event, name) => {
          if (name?.startsWith('delivery-') !== true) return;
          watcher.close();
          resolve();
        });
      });
    const killer = async (): Promise<void> => {
      for (let killed = 0; killed < kills; killed += 1) {
        // Every other time at the moment at which a file appears.
        if (killed % 2 === 0) await Promise.race([appeared(), delay(20_000)]);
        else await delay(randomInt(30, 700));
        await daemon.kill();
        found.push(...faults());
        await daemon.start();
      }
      over = true;
    };
    const workers = protocols.flatMap((protocol) => [work(protocol, 'FILE_PATH'), work(protocol, 'FTM')]);
    await Promise.all([killer(), ...workers]);
    await daemon.stop();
    expect([...found, ...faults()]).toEqual([]);
    await daemon.start();

    const database = new DatabaseSync(join(service.environment.directory, 'state.sqlite'), { readOnly: true });
    expect(database.prepare('select count(*) as due from publications').get()?.['due']).toBe(0);
    expect(database.prepare("select count(*) as staged from transfer_files where state = 'STAGED'").get()?.['staged']).toBe(0);
    database.close();
    await expect.poll(() => readdirSync(writeDirectory).filter((name) => name.startsWith('.signetd.'))).toEqual([]);
    process.stdout.write(`${kills} kills, ${asked.size} requests, ${acknowledged.size} acknowledged\n`);
    expect(acknowledged.size).toBeGreaterThan(0);
    for (const [requestID, answer] of acknowledged) {
      const { filePathData, FTMData } = answer.evidenceObject?.document ?? {};
      const cms = filePathData === undefined ? await download(FTMData?.fileID ?? '') : readFileSync(filePathData.filePath);
      const verified = openssl(['cms', '-verify', '-noverify', '-binary', '-inform', 'DER', '-in', '{cms}', '-content', '{content}'], {
        cms,
        content: Buffer.from(content),
      });
      expect(verified, requestID).toContain(content);
    }
  },
  Math.max(240_000, kills * 20_000),
);
