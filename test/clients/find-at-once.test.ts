import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RegistrationEnded } from '../../src/clients/admission.ts';
import { roles, type Role } from '../../src/clients/caller.ts';
import { ClientRegistry, spkiSha256 } from '../../src/clients/registry.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { repetitions } from '../support/repetitions.ts';
import { asShared } from '../support/shared-store.ts';
import { StoreHere } from '../support/store-here.ts';
import { TellingStore } from '../support/telling-store.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-registry-'));
const certificates = Array.from({ length: 3 }, () => new X509Certificate(Buffer.from(certificateRow().der)));
const noCut = (): void => undefined;
let store: StoreHere;

beforeAll(async () => {
  store = await StoreHere.open(join(directory, 'state.sqlite'));
});

afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const role = fc.constantFrom<Role>(...roles);
const change = fc.record({
  client: fc.nat(2),
  tenant: fc.constantFrom('demo', 'other'),
  roles: fc.uniqueArray(role, { maxLength: 4 }),
  isRevoked: fc.boolean(),
});

/** Whether a request is let in or out. */
async function isLet(work: () => unknown): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof RegistrationEnded) return false;
    throw error;
  }
}

describe('a registry of clients', () => {
  it('finds and admits at once those whom it finds and admits on the general way, after any change', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 8 }), role, async (all, wanted) => {
        const registry = new ClientRegistry(store);
        await registry.load();
        const general = new ClientRegistry(asShared(store));
        for (const { client, isRevoked, ...registration } of all) {
          const [certificate] = certificates.slice(client);
          if (certificate === undefined) throw new RangeError('there are three clients');
          const spki = spkiSha256(certificate);
          const caller = registry.findAtOnce(spki);
          expect(caller).toEqual(await registry.find(spki));
          const before = caller === undefined ? [] : [registry.admit(caller, wanted, noCut)];
          if (isRevoked) await registry.revoke(spki, []);
          else await registry.register({ certificate, name: 'app', ...registration }, true, [], true);
          await general.load();
          // Requests that were known before the change, and one that comes after it.
          const found = registry.findAtOnce(spki);
          expect(found).toEqual(await general.find(spki));
          for (const admission of [...before, ...(found === undefined ? [] : [registry.admit(found, wanted, noCut)])]) {
            const entered = await isLet(() => admission.entersAtOnce());
            const same = general.admit(admission.caller, wanted, noCut);
            expect(entered).toBe(await isLet(async () => same.enter()));
            expect(await isLet(() => admission.confirmsAtOnce())).toBe(await isLet(async () => same.confirm()));
            same.leave();
            admission.leave();
          }
        }
      }),
      { numRuns: repetitions(300, 60) },
    );
  });

  it.each(['everything', { table: 'clients', id: 'any' }] as const)(
    'finds nobody at once after a change until it is read: %o',
    async (told) => {
      const [certificate] = certificates;
      if (certificate === undefined) throw new RangeError('there are three clients');
      const spki = spkiSha256(certificate);
      const telling = new TellingStore(store);
      const registry = new ClientRegistry(telling);
      await registry.register({ certificate, name: 'app', tenant: 'demo', roles: ['signature'] }, true, [], true);
      expect(registry.findAtOnce(spki)).toBeDefined();
      await store.run('revokeClient', { spkiSha256: spki, now: Date.now() });
      telling.tell(told);
      expect(registry.findAtOnce(spki)).toBeUndefined();
      const found = registry.find(spki);
      // It is being read.
      expect(registry.findAtOnce(spki)).toBeUndefined();
      expect(await found).toBeUndefined();
    },
  );

  it('with other instances at its store answers nothing at once', async () => {
    const [certificate] = certificates;
    if (certificate === undefined) throw new RangeError('there are three clients');
    const general = new ClientRegistry(asShared(store));
    await new ClientRegistry(store).register({ certificate, name: 'app', tenant: 'demo', roles: ['signature'] }, true, [], true);
    await general.load();
    const caller = await general.find(spkiSha256(certificate));
    if (caller === undefined) throw new Error('it is registered');
    expect(general.findAtOnce(caller.spkiSha256)).toBeUndefined();
    const admission = general.admit(caller, 'signature', noCut);
    expect(admission.entersAtOnce()).toBe(false);
    await admission.enter();
    expect(admission.confirmsAtOnce()).toBe(false);
    admission.leave();
  });
});
