import { X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RegistrationEnded } from '../../src/clients/admission.ts';
import type { Caller } from '../../src/clients/caller.ts';
import { ClientRegistry, spkiSha256 } from '../../src/clients/registry.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { databases } from '../state/databases.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { recordingLog } from '../support/silent-log.ts';

/** A certificate for a client: any will do. */
const newCertificate = (): X509Certificate => new X509Certificate(Buffer.from(certificateRow().der));
const noCut = (): void => undefined;

describe.each(Object.entries(databases))('admissions, %s', (kind, make) => {
  const database = make();
  let store: StateStore;
  /** Another instance, where the database allows one: else the same. */
  let otherStore: StateStore;
  let registry: ClientRegistry;
  let other: ClientRegistry;

  beforeAll(async () => {
    await database.start();
    const config = await database.fresh();
    store = await openStateStore(config, recordingLog());
    registry = new ClientRegistry(store);
    otherStore = kind === 'PostgreSQL' ? await openStateStore(config, recordingLog()) : store;
    other = kind === 'PostgreSQL' ? new ClientRegistry(otherStore) : registry;
  });

  afterAll(async () => {
    await store.close();
    if (otherStore !== store) await otherStore.close();
    await database.stop();
  });

  async function registered(roles: ('signature' | 'keys')[] = ['signature'], certificate = newCertificate()): Promise<Caller> {
    expect(await registry.register({ certificate, name: 'app', tenant: 'demo', roles }, false, [])).toBe(true);
    const caller = await other.find(spkiSha256(certificate));
    if (caller === undefined) throw new Error('it is registered');
    return caller;
  }

  it('a client is registered once; of two who add it at once one does', async () => {
    const client = { certificate: newCertificate(), name: 'app', tenant: 'demo', roles: ['keys'] as const };
    const both = await Promise.all([registry.register(client, false, []), other.register(client, false, [])]);
    expect(both.toSorted()).toEqual([false, true]);
    expect(await registry.register({ ...client, tenant: 'other' }, true, [])).toBe(true);
    expect((await other.find(spkiSha256(client.certificate)))?.tenant).toBe('other');
  });

  it('a client is revoked once', async () => {
    const { spkiSha256: spki } = await registered();
    const both = await Promise.all([registry.revoke(spki, []), other.revoke(spki, [])]);
    expect(both.toSorted()).toEqual([false, true]);
    expect(await other.find(spki)).toBeUndefined();
  });

  it.each([
    ['asked at once where possible', true],
    ['asked on the general way', false],
  ] as const)('nothing is let out, here or elsewhere, once a revocation has answered: %s', async (_name, atOnce) => {
    for (let round = 0; round < 5; round += 1) {
      const caller = await registered();
      let lastLetOut = 0;
      let refused = 0;
      const requests = Array.from({ length: 20 }, async (_, index) => {
        const instance = index % 2 === 0 ? registry : other;
        for (;;) {
          const admission = instance.admit(caller, 'signature', noCut);
          try {
            if (!atOnce || !admission.entersAtOnce()) await admission.enter();
            await delay(Math.random() * 20);
            if (!atOnce || !admission.confirmsAtOnce()) await admission.confirm();
            lastLetOut = performance.now();
          } catch (error) {
            expect(error).toBeInstanceOf(RegistrationEnded);
            refused += 1;
            return;
          } finally {
            admission.leave();
          }
        }
      });
      await delay(50);
      expect(await registry.revoke(caller.spkiSha256, [])).toBe(true);
      const answered = performance.now();
      await Promise.all(requests);
      expect(refused).toBe(20);
      expect(lastLetOut).toBeLessThanOrEqual(answered);
    }
  });

  it('a revocation waits for requests that run, and cuts off those that take too long', async () => {
    const caller = await registered();
    let isCut = false;
    const brief = registry.admit(caller, 'signature', noCut);
    const long = registry.admit(caller, 'signature', () => {
      isCut = true;
    });
    await Promise.all([brief.enter(), long.enter()]);
    const revocation = registry.revoke(caller.spkiSha256, []);
    brief.leave();
    await revocation;
    expect(isCut).toBe(true);
    await expect(long.confirm()).rejects.toThrow(RegistrationEnded);
    long.leave();
  });

  it('a role that is taken away ends the requests that need it, and no others', async () => {
    const certificate = newCertificate();
    const caller = await registered(['signature', 'keys'], certificate);
    const signing = other.admit(caller, 'signature', noCut);
    const keys = other.admit(caller, 'keys', noCut);
    await Promise.all([signing.enter(), keys.enter()]);
    for (const admission of [signing, keys]) admission.leave();
    expect(await registry.register({ certificate, name: 'app', tenant: 'demo', roles: ['keys'] }, true, [])).toBe(true);
    await expect(signing.confirm()).rejects.toThrow(RegistrationEnded);
    await keys.confirm();
  });

  it('a client that is moved to another tenant ends the requests that it has in the old one, whatever its roles', async () => {
    const certificate = newCertificate();
    const caller = await registered(['signature', 'keys'], certificate);
    const old = other.admit(caller, 'signature', noCut);
    await old.enter();
    old.leave();
    const moved = { certificate, name: 'app', tenant: 'other', roles: ['signature', 'keys'] } as const;
    expect(await registry.register(moved, true, [])).toBe(true);
    await expect(old.confirm()).rejects.toThrow(RegistrationEnded);
    await expect(other.admit(caller, 'signature', noCut).enter()).rejects.toThrow(RegistrationEnded);
    const now = await other.find(caller.spkiSha256);
    if (now === undefined) throw new Error('it is registered');
    const admission = other.admit(now, 'signature', noCut);
    await admission.enter();
    await admission.confirm();
    admission.leave();
  });
});
