import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { codePicture } from '../../src/twoddoc/code-picture.ts';
import { joinCode, splitCode } from '../../src/twoddoc/code/code.ts';
import { zoneCurves } from '../../src/twoddoc/code/curves.ts';
import { readSource } from '../../src/twoddoc/source/read-source.ts';
import { parseAnnex, parseZone } from '../../src/twoddoc/zone/parse-zone.ts';
import { annexOf, zoneOf } from '../../src/twoddoc/zone/zone-of.ts';
import { repetitions } from '../support/repetitions.ts';
import { readByOthers } from '../support/symbol-readers.ts';
import { opensslVerifies, partsOf } from '../support/two-d-doc-codes.ts';
import { madeFields, madeSources, madeZone, xmlOf, type MadeField } from '../support/two-d-doc-sources.ts';
import { usualPicture } from '../support/usual-picture.ts';

const fill = { ca: 'FR00', certificate: '0001', today: new Date('2026-01-02') };
const keys = zoneCurves.map((curve) => ({ curve, ...generateKeyPairSync('ec', { namedCurve: curve.name }) }));
/** Values of C40 that the largest symbol holds, with room for the longest signature and for separators, which take two. */
const largestCode = 2000;

const pem = (key: KeyObject): string => key.export({ format: 'pem', type: 'spki' }).toString();
const fieldsIn = (fields: readonly MadeField[]): unknown =>
  fields.map(({ id, zone, truncated = false }) => ({ id, value: zone, truncated }));

const wishes = fc.record({
  format: fc.constantFrom('PNG', 'TIFF'),
  text: fc.constantFrom('2D-DOC', '2D-Doc', ''),
  position: fc.constantFrom('TOP', 'RIGHT', 'BOTTOM', 'LEFT'),
});
const settings = fc.record({
  encodation: fc.constantFrom('C40', 'MIXED'),
  modulePixels: fc.integer({ min: 3, max: 8 }),
  dpi: fc.constantFrom(200, 300, 600),
  quietZoneModules: fc.integer({ min: 1, max: 4 }),
});

it('any valid values are the same after XML, zone, signature, picture, a reader of others and the parser', async () => {
  await fc.assert(
    fc.asyncProperty(
      madeSources(),
      fc.constantFrom(...keys),
      wishes,
      settings,
      async (made, { curve, privateKey, publicKey }, wish, look) => {
        fc.pre(madeZone(made).length + madeFields(made.annex).length < largestCode - curve.signatureCharacters);
        const source = readSource(Buffer.from(xmlOf(made)));
        const zone = zoneOf(source, fill);
        const signature = sign(curve.algorithm.hash, zone, { key: privateKey, dsaEncoding: 'ieee-p1363' });
        const { content } = codePicture(joinCode(zone, signature, annexOf(source)), wish, { ...usualPicture, ...look });
        const { dmtxread = Buffer.alloc(0), zxing } = await readByOthers(content);
        expect(zxing).toEqual(dmtxread);

        const parts = partsOf(dmtxread);
        expect(parts.zone.toString('latin1')).toBe(madeZone(made));
        expect(opensslVerifies(parts, pem(publicKey))).toBe(true);
        const code = splitCode(dmtxread);
        expect([Buffer.from(code.signature).equals(signature), code.curve.name]).toEqual([true, curve.name]);
        const { header, fields } = parseZone(code.zone);
        expect(fields).toEqual(fieldsIn(made.fields));
        expect(header).toMatchObject({
          ...{ version: made.version, type: made.type, ca: made.header.ca, certificate: made.header.certificate },
          ...{ issueDate: made.header.issueDate?.zone ?? 'FFFF', signatureDate: made.header.signatureDate.zone },
        });
        expect(parseAnnex(code.annex ?? new Uint8Array()).fields).toEqual(fieldsIn(made.annex));
      },
    ),
    { numRuns: repetitions(200, 15) },
  );
});
