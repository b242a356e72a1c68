import { beforeAll, describe, expect, it } from 'vitest';
import { evidenceOf, newKey, secretOf, type TestKey } from '../../support/api.ts';
import { isLongRun } from '../../support/repetitions.ts';
import { readByOthers } from '../../support/symbol-readers.ts';
import { succeeds } from '../../support/succeeds.ts';
import { opensslVerifies, partsOf, publicKeyOf } from '../../support/two-d-doc-codes.ts';
import { madeSourceOf, madeZone, xmlOf } from '../../support/two-d-doc-sources.ts';
import { typesWithSchema } from '../../support/two-d-doc-tables.ts';
import { signZones, zoneDocuments, zoneOf } from './calls.ts';

const client = 'other';
let key: TestKey;

beforeAll(async () => {
  key = await newKey(client);
});

const wishes = (['PNG', 'TIFF'] as const).flatMap((imageFormat) =>
  (['TOP', 'RIGHT', 'BOTTOM', 'LEFT'] as const).map((textPosition) => ({ imageFormat, textPosition })),
);

/** With all optional fields of a type, the code would be too large for a symbol where there are many. */
const largestZone = 2000;

/** Large symbols take a reader a while. */
describe.each(isLongRun ? (['none', 'all'] as const) : (['none'] as const))('documents of every type, optional fields: %s', (optional) => {
  const sources = typesWithSchema.map((type) => madeSourceOf(type, { optional })).filter((made) => madeZone(made).length < largestZone);

  it('are signed, drawn, and read by others', async () => {
    expect(sources.length).toBeGreaterThan(optional === 'none' ? 55 : 50);
    const groups = wishes.map((wish, index) => ({ wish, group: sources.filter((_, at) => at % wishes.length === index) }));
    const publicKey = publicKeyOf(key.certificate);
    await Promise.all(
      groups.map(async ({ wish, group }) => {
        const zones = await Promise.all(group.map(async (made) => zoneOf(client, xmlOf(made))));
        expect(zones.map((zone) => zone.toString('latin1'))).toEqual(group.map(madeZone));
        const answer = succeeds(await signZones(client, secretOf(key), zoneDocuments(...zones), { outputMode: 'IMAGE', ...wish }));
        await Promise.all(
          group.map(async ({ type }, index) => {
            const { dmtxread, zxing } = await readByOthers(evidenceOf(answer, index));
            expect([type, zxing]).toEqual([type, dmtxread]);
            const code = partsOf(dmtxread ?? Buffer.alloc(0));
            expect([type, code.zone.equals(zones[index] ?? Buffer.alloc(0)), opensslVerifies(code, publicKey)]).toEqual([type, true, true]);
          }),
        );
      }),
    );
  });
});
