import { createHash, randomBytes, randomInt } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { DaemonProcess, withOwnPorts } from '../support/daemon-process.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { repetitions } from '../support/repetitions.ts';

const kills = repetitions(8);
const uploaders = 4;
const environment = quickstartEnvironment();
let daemon: DaemonProcess;
let agent: Agent;
let baseUrl: string;

beforeAll(async () => {
  environment.prepare();
  const { clientCertificate, clientKey, caCertificate, configFile } = environment.description();
  agent = new Agent({
    keepAlive: true,
    ca: readFileSync(caCertificate),
    cert: readFileSync(clientCertificate),
    key: readFileSync(clientKey),
  });
  const addresses = withOwnPorts(environment);
  ({ baseUrl } = addresses);
  daemon = new DaemonProcess(configFile, addresses.opsUrl);
  await daemon.start();
});

afterAll(async () => {
  await daemon.stop();
  environment.remove();
});

const Stored = z.object({ fileID: z.string(), fileSize: z.number() });

/** What was stored. Rejects where no answer came. A body in chunks says nothing of its size before. */
async function upload(content: Buffer, inChunks: boolean): Promise<z.output<typeof Stored>> {
  const answer = await new Promise<string>((resolve, reject) => {
    const headers = inChunks ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': content.length };
    const sent = request(`${baseUrl}/ftm/files`, { agent, method: 'POST', headers }, (response) => {
      text(response).then(resolve, reject);
    });
    sent.on('error', reject);
    const half = Math.floor(content.length / 2);
    sent.write(content.subarray(0, half));
    setImmediate(() => sent.end(content.subarray(half)));
  });
  return Stored.parse(JSON.parse(answer));
}

async function download(fileID: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${baseUrl}/ftm/files/${fileID}`, { agent }, (response) => {
      buffer(response).then(resolve, reject);
    });
    sent.on('error', reject).end();
  });
}

it(
  `uploads cut by ${kills} × kill -9: what was acknowledged is whole, nothing else is there, the quota is right`,
  async () => {
    const acknowledged = new Map<string, { bytes: number; sha256: string }>();
    let cut = 0;
    const end = { isOver: false };
    const worker = async (index: number): Promise<void> => {
      while (!end.isOver) {
        const content = randomBytes(randomInt(1, 4_000_000));
        try {
          const { fileID, fileSize } = await upload(content, index % 2 === 0);
          acknowledged.set(fileID, { bytes: fileSize, sha256: createHash('sha256').update(content).digest('hex') });
        } catch {
          cut += 1;
          await daemon.ready();
        }
      }
    };
    const killer = async (): Promise<void> => {
      for (let count = 0; count < kills; count += 1) {
        await delay(randomInt(20, 250));
        await daemon.kill();
        await daemon.start();
        await daemon.ready();
      }
      end.isOver = true;
    };
    await Promise.all([killer(), ...Array.from({ length: uploaders }, async (_, index) => worker(index))]);
    expect(cut).toBeGreaterThan(0);
    expect(acknowledged.size).toBeGreaterThan(0);
    for (const [fileID, { sha256 }] of acknowledged) {
      expect(
        createHash('sha256')
          .update(await download(fileID))
          .digest('hex'),
      ).toBe(sha256);
    }
    await daemon.kill();
    await daemon.start();
    await daemon.stop();

    const state = new DatabaseSync(join(environment.directory, 'state.sqlite'), { readOnly: true });
    const rows = state.prepare('select id, state, bytes, sha256 from transfer_files').all();
    const [share] = state.prepare('select bytes, files from transfer_shares').all();
    state.close();
    expect(rows.map((row) => row['state'])).toEqual(rows.map(() => 'STORED'));
    const onDisk = readdirSync(join(environment.directory, 'files'));
    expect(onDisk.toSorted()).toEqual(rows.map((row) => String(row['id'])).toSorted());
    for (const row of rows) {
      // A file whose acknowledgement was cut off is whole all the same.
      const content = readFileSync(join(environment.directory, 'files', String(row['id'])));
      expect([content.length, createHash('sha256').update(content).digest('hex')]).toEqual([row['bytes'], row['sha256']]);
    }
    for (const fileID of acknowledged.keys()) expect(onDisk).toContain(fileID);
    const bytes = rows.reduce((total, row) => total + Number(row['bytes']), 0);
    expect({ ...share }).toEqual({ bytes, files: rows.length });
  },
  75_000 * kills,
);
