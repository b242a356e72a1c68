import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { repetitions } from '../support/repetitions.ts';
import { privateKeysOnToken } from '../support/token-listing.ts';

const calls = repetitions(200);
const kills = repetitions(16);
let service: OwnService;

beforeAll(async () => {
  service = await OwnService.start();
});

afterAll(async () => {
  await service.remove();
});

const Created = z.object({
  result: z.object({ majorCode: z.literal(0) }),
  keyReference: z.object({ reference: z.string(), password: z.string() }),
});
type KeyReference = z.output<typeof Created>['keyReference'];

it(
  `${calls} × createCertificate under kill -9 of host and daemon: every acknowledged key works, and nothing else is left`,
  async () => {
    const acknowledged: KeyReference[] = [];
    let asked = 0;
    const worker = async (): Promise<void> => {
      while (asked < calls) {
        asked += 1;
        try {
          const created = Created.safeParse(JSON.parse(await service.post('pki/createCertificate', newCertificate())));
          if (created.success) acknowledged.push(created.data.keyReference);
        } catch {
          await service.daemon.ready();
        }
      }
    };
    const killer = async (): Promise<void> => {
      for (let count = 0; count < kills; count += 1) {
        if (asked >= calls) return;
        // Each kill comes at another moment of some creation.
        await delay(randomInt(20, 120));
        if (count % 2 === 0) {
          service.daemon.killHost();
        } else {
          await service.daemon.kill();
          await service.daemon.start();
        }
        // SoftHSM can lose a token when it is killed within a login: the host is ready before the next kill.
        await service.daemon.ready();
      }
    };
    await Promise.all([killer(), ...Array.from({ length: 4 }, worker)]);
    await service.daemon.ready();
    expect(acknowledged.length).toBeGreaterThan(calls / 2);

    for (const keyReference of acknowledged) {
      const answer = await service.post('signature/sign', {
        keyReference,
        parameters: { rawSignature: {} },
        inputDocuments: [{ ID: 'd', base64Data: { base64Value: 'ZG9jdW1lbnQ=' } }],
      });
      expect(answer).toContain('"resultMajor":0');
    }
    await service.daemon.kill();
    await service.daemon.start();
    await service.daemon.stop();

    const state = new DatabaseSync(join(service.environment.directory, 'state.sqlite'), { readOnly: true });
    const recorded = state
      .prepare("select key_id from keys where state = 'ACTIVE' union select key_id from key_pool")
      .all()
      .map((row) => String(row['key_id']));
    expect(state.prepare('select * from key_journal').all()).toEqual([]);
    expect(state.prepare('select reference from keys where reference not in (select sha1 from certificates)').all()).toEqual([]);
    state.close();
    const onToken = privateKeysOnToken(service.environment.directory);
    const callers = onToken.filter((id) => id.startsWith('43'));
    expect(callers.toSorted()).toEqual(recorded.toSorted());
  },
  20_000 * kills,
);
