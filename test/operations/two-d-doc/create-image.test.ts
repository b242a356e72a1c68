import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { opensslVerifies, partsOf, publicKeyOf } from '../../support/two-d-doc-codes.ts';
import { madeSourceOf, xmlOf } from '../../support/two-d-doc-sources.ts';
import { exampleSource, publishedExamples, publishedSamples } from '../../support/two-d-doc-tables.ts';
import {
  base64,
  expectNoPicture,
  foreign,
  foreignCode,
  fromSource,
  fromZone,
  identity,
  imageOf,
  openSourceOf,
  pictureIn,
  readIn,
  zoneOf,
} from './calls.ts';

const publicKey = publicKeyOf(readFileSync(identity.certificate, 'utf8'));

describe('createImage2DDoc signs', () => {
  it('the zone of a source, and OpenSSL verifies what both readers find in the picture', async () => {
    const answer = await imageOf('app', fromSource(openSourceOf('01')), { requestID: 'image 1' });
    const { zone, signature, signatureText: text, annex } = partsOf(await readIn(pictureIn(answer)));
    expect(zone.equals(await zoneOf('app', openSourceOf('01')))).toBe(true);
    expect([text.length, annex, opensslVerifies({ zone, signature }, publicKey)]).toEqual([103, undefined, true]);
    expect(opensslVerifies({ zone: Buffer.concat([zone, Buffer.from('A')]), signature }, publicKey)).toBe(false);
    expect(answer.body['requestID']).toBe('image 1');
  });

  it('a ready-made zone, which goes before a source, as both go before a signed code', async () => {
    const zone = await zoneOf('app', openSourceOf('B0'));
    const ignored = [
      fromZone(zone),
      ...[{ source: base64('no source at all') }, { source: '***' }, {}, 7].flatMap((dataZoneSource) => [
        fromZone(zone, { dataZoneSource }),
        { ...fromZone(zone, { dataZoneSource }), signedCode: base64('no code at all') },
      ]),
      ...['***', 7, null].map((signedCode) => ({ ...fromZone(zone), signedCode })),
    ];
    for (const given of ignored) {
      const code = partsOf(await readIn(pictureIn(await imageOf('app', given))));
      expect([code.zone.equals(zone), opensslVerifies(code, publicKey)]).toEqual([true, true]);
    }
    const code = partsOf(await readIn(pictureIn(await imageOf('app', { ...fromSource(openSourceOf('A0')), ...foreign }))));
    expect(code.zone.toString('latin1')).toMatch(/^DC04FR000001.{8}A001FR/);
  });

  it('the zone without the annex, which follows the signature and a GS', async () => {
    const published = publishedExamples.find(({ annex }) => annex !== undefined);
    const source = exampleSource(published?.file ?? '').toString();
    const today = source.replace(/<ca>.*<\/certificate>/, '').replace(/<signatureDate>.*<\/signatureDate>/, '');
    const code = partsOf(await readIn(pictureIn(await imageOf('app', fromSource(today)))));
    expect([code.annex?.replaceAll('\u001d', '<GS>'), opensslVerifies(code, publicKey)]).toEqual([published?.annex, true]);
    const zone = Buffer.from(published?.dataZoneBase64 ?? '', 'base64').toString('latin1');
    expect(code.zone.toString('latin1').slice(20)).toBe(zone.slice(20));
  });

  it('the largest code that a symbol holds, and refuses one character more before it signs', async () => {
    const sized = (length: number): string =>
      xmlOf({
        ...madeSourceOf('08'),
        fields: [
          { id: '6F', written: 'A', zone: 'A' },
          { id: '01', written: 'A'.repeat(length), zone: '' },
        ],
      }).replace(/<signatureDate>.*<\/signatureDate>/, '');
    // 778 times three values of C40 and a last one in the codeword that is left, without the header, 6FA, GS (two values), 01, US (two
    // values) and the signature.
    const longest = 2335 - 26 - 3 - 2 - 2 - 2 - 103;
    const code = partsOf(await readIn(pictureIn(await imageOf('app', fromSource(sized(longest))))));
    expect([code.zone.length, opensslVerifies(code, publicKey)]).toEqual([longest + 32, true]);
    expectNoPicture(await imageOf('app', fromSource(sized(longest + 1))), '1/105', /symbol/);
    expectNoPicture(await imageOf('app', fromZone(Buffer.concat([code.zone, Buffer.from('A')]))), '1/105', /symbol/);
    expectNoPicture(
      await imageOf('app', { signedCode: base64(foreignCode.replace('26FR', `26FR${'A'.repeat(2400)}`)) }),
      '1/105',
      /symbol/,
    );
  });
});

describe('createImage2DDoc draws codes that are signed', () => {
  const printed = publishedSamples.flatMap(({ id, ca, payloadBase64 }) => (payloadBase64 === undefined ? [] : [{ id, ca, payloadBase64 }]));

  it('of other issuers, v01 included: all printed samples', async () => {
    expect(printed.length).toBeGreaterThan(30);
    await Promise.all(
      printed.map(async ({ id, payloadBase64 }, index) => {
        const imageFormat = index % 2 === 0 ? 'PNG' : 'TIFF';
        const picture = pictureIn(await imageOf('other', { signedCode: payloadBase64 }, { imageFormat }));
        expect([id, (await readIn(picture)).toString('base64')]).toEqual([id, payloadBase64]);
      }),
    );
  });

  it('but not with the identifiers of an identity of the caller and the signature of somebody else', async () => {
    const [own = [], others = []] = [true, false].map((isOwn) => printed.filter(({ ca }) => (ca === 'FR00') === isOwn));
    expect([own.length > 20, others.length > 0]).toEqual([true, true]);
    for (const { payloadBase64 } of own) expectNoPicture(await imageOf('app', { signedCode: payloadBase64 }), '1/105', /FR00 0001/);
    for (const { payloadBase64 } of others) pictureIn(await imageOf('app', { signedCode: payloadBase64 }));
  });

  it('by its own identity, as they are, and changed only for others', async () => {
    const code = await readIn(pictureIn(await imageOf('app', fromSource(openSourceOf('01')))));
    expect(await readIn(pictureIn(await imageOf('app', { signedCode: base64(code) })))).toEqual(code);
    const changed = Buffer.from(code.toString('latin1').replace('0101FR', '0201FR'), 'latin1');
    expectNoPicture(await imageOf('app', { signedCode: base64(changed) }), '1/105', /does not verify/);
    expect(await readIn(pictureIn(await imageOf('other', { signedCode: base64(changed) })))).toEqual(changed);
    const withAnnex = Buffer.concat([code, Buffer.from('\u001d01LOT')]);
    expect(await readIn(pictureIn(await imageOf('app', { signedCode: base64(withAnnex) })))).toEqual(withAnnex);
  });

  it.each([
    ['no signature', foreignCode.split('\u001f')[0] ?? ''],
    ['an empty signature', `${foreignCode.split('\u001f')[0] ?? ''}\u001f`],
    ['a signature of another length', foreignCode.slice(0, -1)],
    ['a signature that is no Base32', foreignCode.replace('\u001fABC', '\u001f1BC')],
    ['no header', foreignCode.slice(2)],
    ['version 01 without a signature', 'DC01FR000001125E125C0026FR'],
    ['no bytes', ''],
    ['something else', 'Bonjour'],
  ])('and refuses what does not read as one: %s', async (_what, code) => {
    expectNoPicture(await imageOf('app', { signedCode: base64(code) }, { requestID: 'r' }), '1/105', /^\/image2DDocSource\/signedCode: /);
  });
});
