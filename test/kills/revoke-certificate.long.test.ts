import { randomInt, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { openssl } from '../support/openssl.ts';
import { repetitions } from '../support/repetitions.ts';

const kills = repetitions(5);
const calls = 12 * kills;
/** Several starts of a service, on a machine that has other work. */
const longestMs = 240_000 + 20_000 * kills;
let service: OwnService;

beforeAll(async () => {
  service = await OwnService.start();
});

afterAll(async () => {
  await service.remove();
});

const Good = z.object({ result: z.object({ majorCode: z.literal(0) }), certificate: z.string().optional(), date: z.number().optional() });

interface Published {
  readonly number: number;
  readonly thisUpdate: number;
  readonly der: Uint8Array;
}

/** The CRL of the issuing CA as it is published at this moment. */
function published(): Published | undefined {
  const state = new DatabaseSync(join(service.environment.directory, 'state.sqlite'), { readOnly: true, timeout: 20_000 });
  try {
    const row = state
      .prepare(
        "select s.published_number, s.this_update, c.der from crl_states s join crls c on c.authority = s.authority where s.authority = 'issuing'",
      )
      .get();
    if (row === undefined || !(row['der'] instanceof Uint8Array)) return undefined;
    return { number: Number(row['published_number']), thisUpdate: Number(row['this_update']), der: row['der'] };
  } finally {
    state.close();
  }
}

/** Of all certificates that were issued, acknowledged or not. */
function serialsTwice(): unknown[] {
  const state = new DatabaseSync(join(service.environment.directory, 'state.sqlite'), { readOnly: true, timeout: 20_000 });
  try {
    return state.prepare('select authority, serial_number from certificates group by authority, serial_number having count(*) > 1').all();
  } finally {
    state.close();
  }
}

function serialsOn(crl: Uint8Array): Set<string> {
  const shown = openssl(['crl', '-inform', 'DER', '-in', '{crl}', '-noout', '-text'], { crl });
  return new Set([...shown.matchAll(/Serial Number: ([0-9A-F]+)/g)].map(([, hex = '']) => hex));
}

it(
  `${calls} × createCertificate and revokeCertificate under kill -9: no serial number twice, and what was acknowledged is in every later CRL`,
  async () => {
    const serials: string[] = [];
    const acknowledged: { readonly serial: string; readonly at: number }[] = [];
    const crls = new Map<number, Published>();
    let asked = 0;
    const over = new AbortController();

    const worker = async (): Promise<void> => {
      while (asked < calls) {
        asked += 1;
        try {
          const { certificate = '' } = Good.parse(JSON.parse(await service.post('pki/createCertificate', newCertificate())));
          const serial = new X509Certificate(Buffer.from(certificate, 'base64')).serialNumber;
          serials.push(serial);
          Good.parse(JSON.parse(await service.post('pki/revokeCertificate', { certificate, reason: 'KEY_COMPROMISE' })));
          acknowledged.push({ serial, at: Date.now() });
        } catch {
          await service.daemon.ready();
        }
      }
    };
    const killer = async (): Promise<void> => {
      for (let count = 0; count < kills; count += 1) {
        if (asked >= calls) return;
        // Each kill comes at another moment of some creation, revocation or CRL.
        await delay(randomInt(100, 1200));
        if (count % 4 === 3) service.daemon.killHost();
        else {
          await service.daemon.kill();
          await service.daemon.start();
        }
        await service.daemon.ready();
      }
    };
    const watcher = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const crl = published();
        if (crl !== undefined) {
          const known = crls.get(crl.number);
          // A number is one list for ever.
          if (known !== undefined) expect(Buffer.from(crl.der).equals(known.der)).toBe(true);
          crls.set(crl.number, crl);
        }
        await delay(100);
      }
    };
    const watching = watcher();
    try {
      await Promise.all([killer(), ...Array.from({ length: 4 }, worker)]);
      await service.daemon.ready();
      await service.daemon.kill();
      await service.daemon.start();
      const last = acknowledged.at(-1)?.serial ?? '';
      const deadline = Date.now() + 30_000;
      while (!serialsOn(published()?.der ?? new Uint8Array()).has(last) && Date.now() < deadline) await delay(100);
    } finally {
      over.abort();
      await watching;
    }

    expect(acknowledged.length).toBeGreaterThan(calls / 3);
    expect(new Set(serials).size).toBe(serials.length);
    expect(serialsTwice()).toEqual([]);
    expect(crls.size).toBeGreaterThan(3);
    let before = 0;
    for (const { number, thisUpdate, der } of [...crls.values()].toSorted((one, other) => one.number - other.number)) {
      // A list is later than an acknowledgement when it says so itself.
      const listed = serialsOn(der);
      const missing = acknowledged.filter(({ serial, at }) => at <= thisUpdate && !listed.has(serial));
      expect([number, missing]).toEqual([number, []]);
      expect(thisUpdate).toBeGreaterThan(before);
      before = thisUpdate;
    }
    const final = serialsOn(published()?.der ?? new Uint8Array());
    expect(acknowledged.filter(({ serial }) => !final.has(serial))).toEqual([]);
  },
  longestMs,
);
