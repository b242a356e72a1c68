import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { DaemonProcess, withOwnPorts, type Addresses } from '../../support/daemon-process.ts';
import { quickstartEnvironment } from '../../support/quickstart-environment.ts';
import { RawConnection, type Peer } from '../../support/raw-connection.ts';

const fileMaxBytes = 100_000;
const environment = quickstartEnvironment();
let daemon: DaemonProcess;
let addresses: Addresses;
let peer: Peer;
let agent: Agent;

const Sections = z.looseObject({ limits: z.looseObject({}), transferStore: z.looseObject({}), documents: z.looseObject({}) });

function changeConfig(change: (config: z.output<typeof Sections>) => object): void {
  const { configFile } = environment.description();
  writeFileSync(configFile, stringify(change(Sections.parse(parse(readFileSync(configFile, 'utf8'))))));
}

beforeAll(async () => {
  environment.prepare();
  addresses = withOwnPorts(environment);
  const { configFile, caCertificate, clientCertificate, clientKey } = environment.description();
  changeConfig((config) => ({
    ...config,
    limits: { ...config.limits, headersTimeoutSeconds: 2, requestTimeoutSeconds: 2 },
    transferStore: { ...config.transferStore, fileMaxBytes, tenantMaxBytes: 250_000, uploadTimeoutSeconds: 8 },
  }));
  peer = { baseUrl: addresses.baseUrl, caCertificate, certificate: clientCertificate, key: clientKey };
  agent = new Agent({ ca: readFileSync(caCertificate), cert: readFileSync(clientCertificate), key: readFileSync(clientKey) });
  daemon = new DaemonProcess(configFile, addresses.opsUrl);
  await daemon.start();
}, 120_000);

afterAll(async () => {
  await daemon.stop();
  environment.remove();
});

async function post(path: string, body: Buffer | string, headers: Record<string, string> = {}): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${addresses.baseUrl}${path}`, { agent, method: 'POST', headers }, (response) => {
      text(response).then((answer) => {
        resolve({ status: response.statusCode ?? 0, text: answer });
      }, reject);
    });
    sent.on('error', reject).end(body);
  });
}

const onDisk = (): string[] => readdirSync(join(environment.directory, 'files'));

it('an upload may take longer than other requests, and no longer than its own time', async () => {
  const operation = await RawConnection.open(peer);
  operation.write('POST /sign/signature/sign HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{');
  const good = await RawConnection.open(peer);
  good.write('POST /ftm/files HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na');
  const endless = await RawConnection.open(peer);
  endless.write('POST /ftm/files HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na');
  await operation.until('HTTP/1.1 408');
  expect([operation.statuses, good.statuses, endless.statuses]).toEqual([[408], [], []]);
  // What is tried here is time itself.
  await delay(1000);
  good.write('b');
  await good.until('HTTP/1.1 201');
  expect(good.statuses).toEqual([201]);
  await endless.until('HTTP/1.1 408');
  expect(endless.statuses).toEqual([408]);
  for (const connection of [operation, good, endless]) connection.close();
  await expect.poll(() => onDisk().length).toBe(1);
}, 60_000);

it('a file beyond the limit is 413, announced or not; beyond the quota 507; nothing of it stays', async () => {
  const before = onDisk();
  const big = Buffer.alloc(fileMaxBytes + 1);
  expect((await post('/ftm/files', big.subarray(1))).status).toBe(201);
  expect((await post('/ftm/files', big)).status).toBe(413);
  expect((await post('/ftm/files', big, { 'Transfer-Encoding': 'chunked' })).status).toBe(413);
  expect((await post('/ftm/files', big.subarray(1), { 'Transfer-Encoding': 'chunked' })).status).toBe(201);
  for (const headers of [{}, { 'Transfer-Encoding': 'chunked' }]) {
    const { status, text: problem } = await post('/ftm/files', big.subarray(1), headers);
    expect([status, JSON.parse(problem)]).toEqual([507, expect.objectContaining({ status: 507, resultMajor: 2, resultMinor: 243 })]);
  }
  expect(onDisk()).toHaveLength(before.length + 2);
});

it('the directories of callers change with a reload', async () => {
  const created = await post(
    '/sign/pki/createCertificate',
    JSON.stringify({
      certificationRequestInfo: {
        signatureActivationProtocol: 'PASSWORD',
        PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Camille' } },
      },
      certificateFormat: 'CERTIFICATE',
    }),
    { 'Content-Type': 'application/json' },
  );
  const { keyReference } = z
    .object({ keyReference: z.object({ reference: z.string(), password: z.string() }) })
    .parse(JSON.parse(created.text));
  const directory = join(environment.directory, 'exchange');
  mkdirSync(directory);
  writeFileSync(join(directory, 'file'), 'x');
  const sign = async (): Promise<string> => {
    const inputDocuments = [{ ID: 'd', filePathData: { filePath: join(directory, 'file') } }];
    const body = JSON.stringify({ keyReference, parameters: { rawSignature: {} }, inputDocuments });
    return (await post('/sign/signature/sign', body, { 'Content-Type': 'application/json' })).text;
  };
  expect(await sign()).toContain('"resultMinor":241');
  changeConfig((config) => ({ ...config, documents: { ...config.documents, readDirectories: [directory] } }));
  daemon.signal('SIGHUP');
  await expect.poll(sign, { timeout: 20_000 }).toContain('"resultMajor":0');
}, 60_000);
