import { createPrivateKey, sign } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { codePicture } from '../../src/twoddoc/code-picture.ts';
import { joinCode, splitCode } from '../../src/twoddoc/code/code.ts';
import { readSource } from '../../src/twoddoc/source/read-source.ts';
import { parseAnnex, parseZone } from '../../src/twoddoc/zone/parse-zone.ts';
import { annexOf, zoneOf } from '../../src/twoddoc/zone/zone-of.ts';
import { outsideAuthority } from '../support/outside-signer.ts';
import { repetitions } from '../support/repetitions.ts';
import { opensslVerifies, partsOf } from '../support/signed-codes.ts';
import { readByOthers } from '../support/symbol-readers.ts';
import { madeSources, madeZone, xmlOf } from '../support/two-d-doc-sources.ts';

const authority = outsideAuthority();
const signers = (['P-256', 'P-384', 'P-521'] as const).map((type) => authority.certify(type));
const hashes = { 'RSA-2048': 'sha256', 'P-256': 'sha256', 'P-384': 'sha384', 'P-521': 'sha512' } as const;
const wishes = fc.record({
  format: fc.constantFrom('PNG' as const, 'TIFF' as const),
  position: fc.constantFrom('TOP' as const, 'RIGHT' as const, 'BOTTOM' as const, 'LEFT' as const),
  text: fc.constantFrom('2D-Doc', '2D-DOC'),
});
const settings = fc.record({
  modulePixels: fc.integer({ min: 3, max: 6 }),
  dpi: fc.constantFrom(300, 600),
  quietZoneModules: fc.integer({ min: 1, max: 3 }),
  encodation: fc.constantFrom('C40' as const, 'MIXED' as const),
});

it(
  'values of a source are those that readers find in the picture of its code, whose signature OpenSSL verifies',
  async () => {
    await fc.assert(
      fc.asyncProperty(madeSources(), fc.constantFrom(...signers), wishes, settings, async (made, signer, wish, options) => {
        const source = readSource(Buffer.from(xmlOf(made)));
        const zone = zoneOf(source, { ca: 'FR00', certificate: '0001', today: new Date() });
        const key = createPrivateKey(signer.privateKey);
        const value = sign(hashes[signer.type], zone, { key, dsaEncoding: 'ieee-p1363' });
        const annex = annexOf(source);
        const code = joinCode(zone, value, annex);
        // Some have more in them than the largest symbol holds.
        fc.pre(code.length < 1800);
        const { dmtxread, zxing } = await readByOthers(codePicture(code, wish, options).content);
        expect(dmtxread?.equals(code)).toBe(true);
        expect(zxing?.equals(code)).toBe(true);
        const read = splitCode(dmtxread ?? new Uint8Array());
        const values = (fields: readonly { readonly id: string }[]): object[] =>
          fields.map(({ id, ...field }) => ({
            id,
            ...('zone' in field ? { value: field.zone } : 'value' in field ? { value: field.value } : {}),
          }));
        expect(values(parseZone(read.zone).fields)).toEqual(values(made.fields));
        expect(values(read.annex === undefined ? [] : parseAnnex(read.annex).fields)).toEqual(values(made.annex));
        expect(Buffer.from(read.zone).toString('latin1')).toBe(madeZone(made));
        expect(opensslVerifies(partsOf(dmtxread ?? new Uint8Array()), signer.certificate)).toBe(true);
      }),
      { numRuns: repetitions(400, 20) },
    );
  },
  repetitions(600_000, 30_000),
);
