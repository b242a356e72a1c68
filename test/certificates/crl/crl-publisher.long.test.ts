import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CrlPublisher, type CrlSettings } from '../../../src/certificates/crl/crl-publisher.ts';
import type { CertificateIssuer } from '../../../src/certificates/issue.ts';
import type { StateConfig } from '../../../src/config/state-config.ts';
import type { StateStore } from '../../../src/state/state-store.ts';
import { openStateStore } from '../../../src/state/threaded-store.ts';
import { databasesOfRun } from '../../state/databases.ts';
import { openssl } from '../../support/openssl.ts';
import { recordingLog } from '../../support/silent-log.ts';
import { softwareAuthority } from '../software-authority.ts';
import { until } from './until.ts';

const day = 86_400;
const settings: CrlSettings = { lifetimeSeconds: day, renewBeforeSeconds: day / 2, keepExpired: false };

/** The tests share a store; each has an authority of its own. */
let authority: string;

/** Revokes a certificate of the authority; answers its serial number. */
async function revoke(store: StateStore, changes: { notAfter?: number; reason?: number } = {}): Promise<string> {
  const serialNumber = randomBytes(16).toString('hex');
  const at = Math.floor(Date.now() / 1000) * 1000;
  await store.run('revoke', {
    sha1: serialNumber,
    heldSince: null,
    authority,
    serial_number: serialNumber,
    reason: changes.reason ?? 1,
    revoked_at: at,
    not_after: changes.notAfter ?? at + day * 1000,
  });
  return serialNumber;
}

/** What OpenSSL has read, by the digest of the list: who waits for a list looks at the same one many times. */
const read = new Map<string | undefined, readonly bigint[]>();

function serialsOn({ published }: CrlPublisher): readonly bigint[] {
  const known = read.get(published?.digest);
  if (known !== undefined) return known;
  const crl = published?.der ?? new Uint8Array();
  const text = openssl(['crl', '-inform', 'DER', '-in', '{crl}', '-noout', '-text'], { crl });
  const serials = [...text.matchAll(/Serial Number: ([0-9A-F]+)/g)].map(([, hex = '']) => BigInt(`0x${hex}`));
  read.set(published?.digest, serials);
  return serials;
}
const numberOf = (hex: string): bigint => BigInt(`0x${hex}`);

describe.each(Object.entries(databasesOfRun))('CRLs with %s', (_name, kind) => {
  const database = kind();
  let config: StateConfig;
  let store: StateStore;
  let issuer: CertificateIssuer;
  /** Another key, with a certificate that begins later. */
  let laterIssuer: CertificateIssuer;
  let publishers: CrlPublisher[];

  beforeAll(async () => {
    await database.start();
    config = await database.fresh();
    store = await openStateStore(config, recordingLog());
    ({ issuer } = await softwareAuthority('P-256'));
    const { issuer: other } = await softwareAuthority('P-256');
    const notBefore = new Date(issuer.certificate.notBefore.getTime() + 1000);
    laterIssuer = { ...other, certificate: { ...other.certificate, notBefore } };
  });
  afterAll(async () => {
    await store.close();
    await database.stop();
  });
  beforeEach(() => {
    authority = `ca ${randomBytes(4).toString('hex')}`;
    publishers = [];
  });
  afterEach(async () => {
    for (const publisher of publishers) await publisher.stop();
  });

  async function started(on = store, changes: Partial<CrlSettings> = {}, by = issuer, log = recordingLog()): Promise<CrlPublisher> {
    const publisher = new CrlPublisher(on, authority, by, { settings: { ...settings, ...changes }, log });
    publishers.push(publisher);
    await publisher.start();
    return publisher;
  }

  it('are there from the start, with the seconds since 1970 as their number', async () => {
    const before = Math.floor(Date.now() / 1000);
    const publisher = await started();
    expect(publisher.published?.number).toBeGreaterThanOrEqual(before);
    expect(publisher.published?.number).toBeLessThanOrEqual(Date.now() / 1000);
    expect(serialsOn(publisher)).toEqual([]);
  });

  it('have a number that was never published, also after a start from an old copy of the store', async () => {
    const publisher = await started();
    await revoke(store);
    publisher.changed();
    await until(() => serialsOn(publisher).length === 1);
    // As a copy from before everything: nothing of it is in there.
    const copy = await openStateStore(await database.fresh(), recordingLog());
    const restored = await started(copy);
    await until(() => restored.published !== undefined);
    expect(restored.published?.number).toBeGreaterThanOrEqual(publisher.published?.number ?? 0);
    await restored.stop();
    await copy.close();
  });

  it('are issued on a revocation, and one for many that come together', async () => {
    const publisher = await started();
    const first = publisher.published?.number ?? 0;
    const digests = new Set<string | undefined>();
    const serials = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const serial = await revoke(store);
        publisher.changed();
        return serial;
      }),
    );
    await until(() => {
      digests.add(publisher.published?.digest);
      return serialsOn(publisher).length === serials.length;
    });
    expect(publisher.published?.number).toBeGreaterThan(first);
    expect(new Set(serialsOn(publisher))).toEqual(new Set(serials.map(numberOf)));
    expect(digests.size).toBeLessThanOrEqual(3);
  });

  it('contain every revocation that was committed before the request, however recent the last list is', async () => {
    const publisher = await started();
    const serials: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      serials.push(await revoke(store));
      publisher.changed();
      const asked = await publisher.latest();
      expect(asked).toBe(publisher.published);
      expect(new Set(serialsOn(publisher))).toEqual(new Set(serials.map(numberOf)));
    }
    expect(await publisher.latest()).toBe(publisher.published);
  });

  it('are still served if the next one cannot be issued', async () => {
    let works = true;
    const faulty: CertificateIssuer = {
      ...issuer,
      sign: async (tbs) => (works ? issuer.sign(tbs) : Promise.reject(new Error('no token'))),
    };
    const publisher = await started(store, {}, faulty);
    const before = publisher.published;
    works = false;
    await revoke(store);
    publisher.changed();
    expect(await publisher.latest()).toBe(before);
    expect(before).toBeDefined();
  });

  it('drop a certificate that is released from hold', async () => {
    const publisher = await started();
    const held = await revoke(store, { reason: 6 });
    publisher.changed();
    await until(() => serialsOn(publisher).includes(numberOf(held)));
    await store.run('releaseHold', { sha1: held, authority, serialNumber: held });
    publisher.changed();
    await until(() => serialsOn(publisher).length === 0);
  });

  it('continue after a start: a new list is issued if something was revoked meanwhile, otherwise the old one is served', async () => {
    const first = await started();
    await first.stop();
    const same = await started();
    expect(same.published).toEqual(first.published);
    await same.stop();
    const serial = await revoke(store);
    const next = await started();
    await until(() => serialsOn(next).includes(numberOf(serial)));
    expect(next.published?.number).toBeGreaterThan(first.published?.number ?? 0);
  });

  it('never repeat a number, whatever fails between taking it and publishing', async () => {
    const log = recordingLog();
    let failures = 2;
    const numbers: string[] = [];
    const faulty: CertificateIssuer = {
      ...issuer,
      async sign(tbs) {
        numbers.push(/0603551d1404060204([0-9a-f]{8})/.exec(Buffer.from(tbs).toString('hex'))?.[1] ?? '');
        failures -= 1;
        if (failures >= 0) throw new Error('no token');
        return issuer.sign(tbs);
      },
    };
    const publisher = await started(store, {}, faulty, log);
    expect(publisher.published).toBeUndefined();
    await until(() => publisher.published !== undefined);
    expect(numbers).toHaveLength(3);
    expect(numbers).toEqual([...new Set(numbers)].toSorted());
    expect(publisher.published?.number).toBe(Number.parseInt(numbers.at(-1) ?? '', 16));
    // Once, not each second.
    expect(log.lines.filter((line) => line.includes('could not be issued'))).toHaveLength(1);
  });

  it('are issued again for requests that need a later list, once for all of them', async () => {
    const publisher = await started();
    const first = publisher.published;
    expect(await publisher.madeSince(first?.thisUpdate ?? new Date())).toBe(first);
    const later = new Date((first?.thisUpdate.getTime() ?? 0) + 1000);
    const [one, other] = await Promise.all([publisher.madeSince(later), publisher.madeSince(later)]);
    expect(one?.thisUpdate.getTime()).toBeGreaterThanOrEqual(later.getTime());
    expect(other).toBe(one);
    expect(publisher.published).toBe(one);
  });

  it('are renewed before they end', async () => {
    const publisher = await started(store, { lifetimeSeconds: 3, renewBeforeSeconds: 2 });
    const first = publisher.published?.number ?? 0;
    await until(() => (publisher.published?.number ?? 0) >= first + 2);
    expect(publisher.published?.nextUpdate.getTime()).toBeGreaterThan(Date.now());
  });

  it('drop a certificate that has ended, once it has been on a list issued after its end; unless they keep it', async () => {
    const ended = await revoke(store, { notAfter: Date.now() - 5000 });
    const publisher = await started();
    // The first list is the first that is issued after the certificate's end.
    expect(serialsOn(publisher)).toEqual([numberOf(ended)]);
    const good = await revoke(store);
    publisher.changed();
    await until(() => serialsOn(publisher).includes(numberOf(good)));
    expect(serialsOn(publisher)).toEqual([numberOf(good)]);
    await publisher.stop();
    const keeping = await started(store, { keepExpired: true });
    await revoke(store);
    keeping.changed();
    await until(() => serialsOn(keeping).length === 3);
    expect(serialsOn(keeping)).toContain(numberOf(ended));
  });

  it('are issued again if another key signs now', async () => {
    const first = await started();
    await first.stop();
    const publisher = await started(store, {}, laterIssuer);
    await until(() => (publisher.published?.number ?? 0) > (first.published?.number ?? 0));
  });

  it('are not issued after a stop, whatever is due', async () => {
    let signed = 0;
    const counting: CertificateIssuer = {
      ...issuer,
      async sign(tbs) {
        signed += 1;
        return issuer.sign(tbs);
      },
    };
    const publisher = await started(store, {}, counting);
    await publisher.stop();
    await revoke(store);
    publisher.changed();
    await publisher.start();
    await delay(1500);
    expect(signed).toBe(1);
  });

  it('are left to the newer key, once it has signed: two instances with two keys do not take turns', async () => {
    const signed: string[] = [];
    const noting = (name: string, by: CertificateIssuer): CertificateIssuer => ({
      ...by,
      async sign(tbs) {
        signed.push(name);
        return by.sign(tbs);
      },
    });
    const old = await started(store, {}, noting('old', issuer));
    const next = await started(store, {}, noting('new', laterIssuer));
    await until(() => signed.includes('new'));
    const serial = await revoke(store);
    old.changed();
    next.changed();
    await until(() => serialsOn(next).includes(numberOf(serial)));
    const another = await revoke(store);
    old.changed();
    await delay(1500);
    expect(signed.filter((name) => name === 'old')).toHaveLength(1);
    next.changed();
    await until(() => serialsOn(next).includes(numberOf(another)));
    expect(signed.filter((name) => name === 'old')).toHaveLength(1);
    // What anybody published everybody serves.
    old.changed();
    await until(() => old.published?.digest === next.published?.digest);
  });

  it('are signed with the older key again if no instance has the newer one any more', async () => {
    const next = await started(store, {}, laterIssuer);
    await next.stop();
    const old = new CrlPublisher(store, authority, issuer, { settings, log: recordingLog(), waitForNewerKeyMs: 1000 });
    publishers.push(old);
    await old.start();
    expect(old.published?.digest).toBe(next.published?.digest);
    const serial = await revoke(store);
    old.changed();
    await until(() => serialsOn(old).includes(numberOf(serial)));
  });

  it('share one series of numbers over several instances', async (context) => {
    if (config.kind === 'sqlite') return context.skip('one process has the embedded store');
    const second = await openStateStore(config, recordingLog());
    try {
      const [one, two] = await Promise.all([started(), started(second)]);
      await until(() => one.published !== undefined && two.published !== undefined);
      const serials: string[] = [];
      for (const [on, publisher] of [
        [store, one],
        [second, two],
        [store, one],
      ] as const) {
        serials.push(await revoke(on));
        publisher.changed();
      }
      await until(() => [one, two].every((publisher) => serialsOn(publisher).length === serials.length));
      await until(() => one.published?.number === two.published?.number);
      expect(two.published?.digest).toBe(one.published?.digest);
      for (const publisher of publishers.splice(0)) await publisher.stop();
    } finally {
      await second.close();
    }
  });
});
