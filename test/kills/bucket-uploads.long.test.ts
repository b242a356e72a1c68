import { createHash, randomBytes, randomInt } from 'node:crypto';
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { request, type Agent } from 'node:https';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { noObjectStore, ObjectStore } from '../support/object-store.ts';
import { agentOf, newCertificate, OwnService } from '../support/own-service.ts';
import { skipNote } from '../support/skip-note.ts';

const kills = 5;
const uploaders = 3;
const Stored = z.object({ fileID: z.string() });
const Created = z.object({ keyReference: z.object({ reference: z.string(), password: z.string() }) });
const Delivered = z.object({ evidenceObject: z.object({ document: z.object({ FTMData: z.object({ fileID: z.string() }) }) }) });

interface FileAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Buffer;
}

describe.skipIf(noObjectStore !== undefined)(`a service whose transfer store is in a bucket${skipNote(noObjectStore)}`, () => {
  let bucket: ObjectStore;
  let service: OwnService;
  let agent: Agent;
  beforeAll(async () => {
    bucket = await ObjectStore.start();
    service = await OwnService.start((environment) => {
      const { configFile } = environment.description();
      const config = parse(readFileSync(configFile, 'utf8')) as Record<string, object>;
      writeFileSync(configFile, stringify({ ...config, transferStore: { ...config['transferStore'], s3: bucket.config } }));
    });
    agent = agentOf(service.description, 'other');
  });
  afterAll(async () => {
    agent.destroy();
    await service.remove();
    await bucket.remove();
  });

  const file = async (method: 'GET' | 'POST', fileID = '', content?: Buffer): Promise<FileAnswer> =>
    new Promise((resolve, reject) => {
      const path = fileID === '' ? '' : `/${fileID}`;
      const sent = request(`${service.baseUrl}/ftm/files${path}`, { agent, method }, (response) => {
        buffer(response).then((body) => {
          resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], body });
        }, reject);
      });
      sent.on('error', reject).end(content);
    });
  const upload = async (content: Buffer): Promise<string> =>
    Stored.parse(JSON.parse((await file('POST', '', content)).body.toString())).fileID;
  const names = (): string[] => readdirSync(bucket.directory).toSorted();

  it(`uploads cut by ${kills} × kill -9: what was acknowledged is whole, nothing else is in the bucket`, async () => {
    const acknowledged = new Map<string, string>();
    const end = { isOver: false };
    const worker = async (): Promise<void> => {
      while (!end.isOver) {
        const content = randomBytes(randomInt(1, 3_000_000));
        try {
          acknowledged.set(await upload(content), createHash('sha256').update(content).digest('hex'));
        } catch {
          await service.daemon.ready();
        }
      }
    };
    const working = Promise.all(Array.from({ length: uploaders }, worker));
    for (let count = 0; count < kills; count += 1) {
      const before = acknowledged.size;
      await expect.poll(() => acknowledged.size, { interval: 5 }).toBeGreaterThan(before);
      await delay(randomInt(0, 250));
      await service.daemon.kill();
      await service.daemon.start();
    }
    end.isOver = true;
    await working;
    for (const [fileID, sha256] of acknowledged) {
      expect(
        createHash('sha256')
          .update((await file('GET', fileID)).body)
          .digest('hex'),
      ).toBe(sha256);
    }
    const rows = (): Record<string, unknown>[] => {
      const state = new DatabaseSync(join(service.environment.directory, 'state.sqlite'), { readOnly: true, timeout: 20_000 });
      const found = state.prepare('select id, state from transfer_files').all();
      state.close();
      return found;
    };
    const known = (): string[] => rows().map((row) => String(row['id']));
    // The server may finish a PUT after the kill of its caller, when the next start has cleaned up; so it is with one here in any case.
    // Such an object goes when every file of its time would have expired.
    writeFileSync(join(bucket.directory, 'f'.repeat(43)), 'late');
    for (const late of names().filter((name) => !known().includes(name))) utimesSync(join(bucket.directory, late), 0, 0);
    await service.daemon.kill();
    await service.daemon.start();
    await expect.poll(names).toEqual(known().toSorted());
    expect(rows().map((row) => row['state'])).toEqual(rows().map(() => 'STORED'));
    for (const fileID of acknowledged.keys()) expect(names()).toContain(fileID);
    expect(readdirSync(join(service.environment.directory, 'files'))).toEqual([]);
  });

  it('signs from the bucket into the bucket; without the server it answers 503, remains ready, and continues by itself', async () => {
    const { keyReference } = Created.parse(JSON.parse(await service.post('pki/createCertificate', newCertificate())));
    const content = randomBytes(3_000_000);
    const fileID = await upload(content);
    const signing = {
      keyReference,
      parameters: { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: false } } } },
      inputDocuments: [{ ID: 'd', FTMData: { fileID, fileSize: content.length } }],
      optionalInputs: { evidenceOutput: { outputMode: 'FTM' } },
    };
    const signed = async (): Promise<string> =>
      Delivered.parse(JSON.parse(await service.post('signature/sign', signing))).evidenceObject.document.FTMData.fileID;
    const evidence = await file('GET', await signed());
    expect(evidence.body.includes(content.subarray(1000, 2000))).toBe(true);

    await bucket.stop();
    for (const answer of [await file('POST', '', content), await file('GET', fileID)]) {
      expect([answer.status, answer.retryAfter]).toEqual([503, '5']);
    }
    expect(await service.post('signature/sign', signing)).toContain('the transfer store is not available');
    const ready = await fetch(`${service.opsUrl}/health/ready`);
    expect([ready.status, await ready.text()]).toEqual([
      200,
      expect.stringContaining('"transferStore":"no connection to the object store'),
    ]);
    await bucket.restart();
    expect((await file('GET', await signed())).status).toBe(200);
  });
});
