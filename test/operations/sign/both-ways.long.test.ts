import crypto, { createHash, type UUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { revokeCertificate } from '../../../src/operations/revoke-certificate/revoke-certificate.ts';
import type { Operation } from '../../../src/operations/operation.ts';
import { sign } from '../../../src/operations/sign/sign.ts';
import type { SignOutcome, Token } from '../../../src/token/token.ts';
import { repetitions } from '../../support/repetitions.ts';
import { copyOfQuickstart, ServiceHere, type Told } from '../../support/service-here.ts';
import { asShared } from '../../support/shared-store.ts';
import { directoryToDrawFrom, drawnKeyNames, drawnKeysOf, type DrawnKeyName, type DrawnKeys } from './drawn-keys.ts';
import { drawnRequest, type DrawnRequest } from './drawn-requests.ts';
import { directoryMark, drawnFormats, type DrawnFormat } from './drawn-signing.ts';
import { signGenerally } from './general-way.ts';

/**
 * Signature values by key, algorithm and digest. ECDSA and RSASSA-PSS give another one each time. Both services have the same
 * keys, so the value that the first got is put in place of that of the second, and all evidence is the same to the byte.
 */
const values = new Map<string, Uint8Array>();

function sameValues(token: Token): Token {
  const same = (outcome: SignOutcome, names: readonly string[]): SignOutcome => {
    if (!outcome.verified) return outcome;
    const kept = outcome.values.map((value, index) => {
      const name = names[index] ?? '';
      const known = values.get(name) ?? value;
      values.set(name, known);
      return known;
    });
    return { ...outcome, values: kept };
  };
  const nameOf = (...parts: readonly [string, object, Uint8Array]): string =>
    JSON.stringify([parts[0], parts[1], Buffer.from(parts[2]).toString('hex')]);
  return {
    ...token,
    signWithProof: async (id, algorithm, digests, proofs) =>
      same(
        await token.signWithProof(id, algorithm, digests, proofs),
        digests.map((digest) => nameOf(id, algorithm, digest)),
      ),
    signAsIdentity: async (id, algorithm, zones, proofs) =>
      same(
        await token.signAsIdentity(id, algorithm, zones, proofs),
        zones.map((zone) => nameOf(id, algorithm, zone)),
      ),
  };
}

const { randomUUID } = crypto;

/** From now on random identifiers, such as those of XAdES, are those of this seed. */
function drawIdentifiersFrom(seed: string): void {
  let drawn = 0;
  crypto.randomUUID = (): UUID => {
    drawn += 1;
    const text = createHash('sha256').update(`${seed} ${drawn}`).digest('hex');
    return `${text.slice(0, 8)}-${text.slice(8, 12)}-4${text.slice(13, 16)}-8${text.slice(17, 20)}-${text.slice(20, 32)}`;
  };
  syncBuiltinESMExports();
}

let atOnce: ServiceHere;
let generally: ServiceHere;
let keys: DrawnKeys;
let requests = 0;

beforeAll(async () => {
  const first = directoryToDrawFrom();
  const making = await ServiceHere.open(first);
  keys = await drawnKeysOf(making);
  await making.end();
  // The time stands still, so that both sign at the same.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 1000 });
  const tokenAround = sameValues;
  [atOnce, generally] = await Promise.all([
    ServiceHere.open(copyOfQuickstart(first), { tokenAround }),
    ServiceHere.open(copyOfQuickstart(first), { tokenAround, storeAround: asShared }),
  ]);
  making.remove();
});

afterAll(async () => {
  vi.useRealTimers();
  for (const service of [atOnce, generally]) {
    await service.end();
    service.remove();
  }
});

/** The end of a request without what is random in it, with the files that it delivered. */
async function askedOf(service: ServiceHere, { tenant, body }: DrawnRequest, operation: Operation): Promise<unknown> {
  drawIdentifiersFrom(`request ${requests}`);
  let told: Told;
  try {
    const own = JSON.parse(JSON.stringify(body).replaceAll(directoryMark, service.directory)) as Record<string, unknown>;
    told = await service.ask(tenant, operation, own);
  } finally {
    crypto.randomUUID = randomUUID;
    syncBuiltinESMExports();
  }
  const text = JSON.stringify(told).replaceAll(service.directory, directoryMark);
  const transfers = new Map<string, string>();
  for (const [, fileID = ''] of text.matchAll(/"fileID":"([^"]+)"/g)) transfers.set(fileID, await service.transferred(tenant, fileID));
  const masked = text.replaceAll(/"fileID":"([^"]+)"/g, (_, fileID: string) => `"fileID":"of ${transfers.get(fileID) ?? ''}"`);
  return { told: JSON.parse(masked) as unknown, files: deliveredFiles(join(service.directory, 'write')) };
}

/** Takes the files of a directory away, and returns their names and contents. */
function deliveredFiles(directory: string): string[][] {
  const names = readdirSync(directory).toSorted();
  const files = names.map((name) => [name, readFileSync(join(directory, name)).toString('base64')]);
  for (const name of names) rmSync(join(directory, name));
  return files;
}

/** The row of a key. Both services began with the same. */
const rowOf = async ({ store }: ServiceHere, name: DrawnKeyName): Promise<unknown> => store.run('findKey', keys[name].reference);
const rowsOf = async (service: ServiceHere): Promise<unknown[]> => Promise.all(drawnKeyNames.map(async (name) => rowOf(service, name)));

/** Asks both services, expects that they do the same, and returns it. */
async function both(request: DrawnRequest, operation: Operation, general: Operation): Promise<string> {
  requests += 1;
  const one = await askedOf(atOnce, request, operation);
  expect(await askedOf(generally, request, general)).toEqual(one);
  expect(await rowsOf(generally)).toEqual(await rowsOf(atOnce));
  const { ended } = (one as { told: Told }).told;
  return 'refusal' in ended ? ended.refusal.code : 'answer' in ended ? 'SUCCESS' : ended.error;
}

/** A hold of a key, or its end. */
const change = fc.record({
  name: fc.constantFrom<DrawnKeyName>('p256', 'rsa', 'chosen', 'held'),
  reason: fc.constantFrom('CERTIFICATE_HOLD', 'REMOVE_FROM_CRL', 'REMOVE_FROM_CRL'),
});

describe('sign, at once and on the general way', () => {
  const codes = new Map<string, number>();
  const signedIn = new Set<DrawnFormat>();

  it.each(Object.keys(drawnFormats) as DrawnFormat[])('ends alike to the byte: %s', async (format) => {
    const step = fc.oneof(
      { weight: 20, arbitrary: drawnRequest(format, () => keys).map((request) => ({ request })) },
      { weight: 1, arbitrary: change.map((one) => ({ change: one })) },
    );
    await fc.assert(
      fc.asyncProperty(step, async (drawn) => {
        if ('request' in drawn) {
          const code = await both(drawn.request, sign, signGenerally);
          codes.set(code, (codes.get(code) ?? 0) + 1);
          if (code === 'SUCCESS') signedIn.add(format);
        } else {
          const { tenant, certificate } = keys[drawn.change.name];
          await both({ tenant, body: { certificate, reason: drawn.change.reason } }, revokeCertificate, revokeCertificate);
        }
      }),
      // What a request changed stays: a smaller one is not the same.
      { numRuns: repetitions(400, 60), endOnFailure: true },
    );
  });

  it('signed and refused much of what was drawn', () => {
    expect(codes.get('SUCCESS')).toBeGreaterThan(40);
    expect(codes.size).toBeGreaterThan(6);
    expect(signedIn.size).toBeGreaterThan(5);
  });
});
