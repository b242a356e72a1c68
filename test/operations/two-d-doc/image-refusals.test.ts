import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { partsOf } from '../../support/two-d-doc-codes.ts';
import { validSourceOf } from '../../support/two-d-doc-sources.ts';
import {
  base64,
  callCreator,
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
  signatureText,
  zoneOf,
} from './calls.ts';

describe('createImage2DDoc refuses', () => {
  const zone = 'DC04FR000001125E125B0101FR26FR24750012212 RUE DU MOULIN\u001d10MME/MARTIN/CAMILLE';
  const broken = { dataZoneSignatureSource: { password: identity.password, dataZone: base64('DC04') } };

  it.each<[string, string, object, RegExp]>([
    ['1/101', 'nothing', {}, /^\/image2DDocSource: /],
    ['1/101', 'no password', { image2DDocSource: { dataZoneSignatureSource: { dataZone: base64(zone) } } }, /\/password: /],
    ['1/101', 'no password and an unknown member', { image2DDocSource: { dataZoneSignatureSource: {} }, more: 1 }, /\/password: /],
    ['1/102', 'an empty password', { image2DDocSource: { dataZoneSignatureSource: { password: '', dataZone: '' } } }, /\/password: /],
    [
      '1/101',
      'no source of a zone',
      { image2DDocSource: { dataZoneSignatureSource: { password: identity.password, dataZoneSource: {} } } },
      /\/source: /,
    ],
    ['1/102', 'a code that is not base64', { image2DDocSource: { signedCode: foreignCode } }, /^\/image2DDocSource\/signedCode: /],
    ['1/102', 'an unknown format', { image2DDocSource: foreign, imageFormat: 'GIF' }, /^\/imageFormat: /],
    ['1/102', 'an unknown position', { image2DDocSource: foreign, textOptions: { position: 'top' } }, /^\/textOptions\/position: /],
    ['1/102', 'an unknown member', { image2DDocSource: foreign, imageSize: 3 }, /imageSize/],
    ['1/102', 'an unknown member inside', { image2DDocSource: { ...foreign, more: 1 } }, /more/],
    ['1/102', 'a text of 65 characters', { image2DDocSource: foreign, textOptions: { value: 'A'.repeat(65) } }, /^\/textOptions\/value: /],
    ['1/102', 'a text that cannot be drawn', { image2DDocSource: foreign, textOptions: { value: '\u{13000}' } }, /^\/textOptions\/value: /],
    ['1/102', 'a text of several lines', { image2DDocSource: foreign, textOptions: { value: 'a\nb' } }, /^\/textOptions\/value: /],
    ['1/102', 'a wrong text before nothing to draw', { image2DDocSource: {}, textOptions: { value: 'a\nb' } }, /^\/textOptions\/value: /],
    ['1/103', 'neither a zone nor a code', { image2DDocSource: {} }, /^\/image2DDocSource: .*required/],
    [
      '1/103',
      'neither zone nor source',
      { image2DDocSource: { dataZoneSignatureSource: { password: identity.password } } },
      /dataZone or dataZoneSource/,
    ],
    [
      '1/103',
      'a code beside a source of signature that has nothing',
      { image2DDocSource: { ...foreign, dataZoneSignatureSource: { password: identity.password } } },
      /dataZone or dataZoneSource/,
    ],
    ['1/105', 'a broken zone', { image2DDocSource: broken }, /^\/image2DDocSource\/dataZoneSignatureSource\/dataZone: /],
    ['1/105', 'a zone without bytes', { image2DDocSource: fromZone('') }, /dataZone: /],
    ['1/105', 'a source without bytes', { image2DDocSource: fromSource('') }, /source: /],
    ['1/105', 'a zone of a megabyte', { image2DDocSource: fromZone(`${zone}${'A'.repeat(1_000_000)}`) }, /largest symbol/],
    [
      '1/105',
      'a code of a megabyte',
      { image2DDocSource: { signedCode: base64(`${zone}${'A'.repeat(1_000_000)}\u001f${signatureText}`) } },
      /./,
    ],
    [
      '1/105',
      'an annex of a megabyte',
      { image2DDocSource: { signedCode: base64(`${foreignCode}\u001d${'A'.repeat(1_000_000)}`) } },
      /symbol/,
    ],
    [
      '1/102',
      'a text with a control character',
      { image2DDocSource: foreign, textOptions: { value: 'a\u0007' } },
      /^\/textOptions\/value: /,
    ],
    ['1/105', 'a zone of version 01', { image2DDocSource: fromZone('DC01FR000001125E125B0126FR') }, /01/],
    ['1/105', 'a zone without a mandatory field', { image2DDocSource: fromZone(zone.replace('26FR', '')) }, /26/],
    [
      '1/105',
      'a zone with a signature',
      { image2DDocSource: fromZone(`${zone}\u001f${signatureText}`) },
      /dataZone: .*signed already.*signedCode/,
    ],
    ['1/105', 'a source as a zone', { image2DDocSource: fromZone(validSourceOf('01')) }, /dataZone: .*this is XML.*dataZoneSource/],
    ['1/105', 'a zone as a source', { image2DDocSource: fromSource(zone) }, /source: .*ready-made zone.*dataZone/],
    ['1/102', 'an unknown member beside what is ignored', { image2DDocSource: { ...fromZone(zone), signedCode: 1, more: 1 } }, /more/],
    ['1/105', 'a wrong source', { image2DDocSource: fromSource(validSourceOf('01').replace('<D10>', '<D10>~')) }, /D10 \(line \d+\)/],
    ['2/261', 'identifiers of nobody', { image2DDocSource: fromZone(zone.replace('FR00', 'FR97')) }, /FR97 0001/],
    ['2/261', 'a type that the identity may not sign', { image2DDocSource: fromSource(todayOf('03')) }, /type 03/],
    ['2/261', 'a date before the certificate', { image2DDocSource: fromZone(zone) }, /2012-11-12, .* valid only from/],
  ])('with %s: %s', async (code, _what, body, message) => {
    const requestID = randomUUID();
    const answer = await callCreator('app', 'createImage2DDoc', { ...body, requestID });
    expectNoPicture(answer, code, message);
    expect(answer.body['requestID']).toBe(requestID);
  });

  it('with 2/261 the identity of another tenant, whatever the password', async () => {
    const own = await zoneOf('app', openSourceOf('01'));
    expectNoPicture(await imageOf('other', fromZone(own)), '2/261', /no digital identity FR00 0001/);
    expectNoPicture(await imageOf('p384', { dataZoneSignatureSource: { password: 'x', dataZone: base64(own) } }), '2/261');
  });

  function todayOf(type: string): string {
    return validSourceOf(type).replace(/<signatureDate>.*<\/signatureDate>/, '');
  }
});

describe('a repeated request of createImage2DDoc', () => {
  it('is answered with the same picture, and 422 with another body', async () => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const source = fromSource(openSourceOf('01'));
    const first = await imageOf('app', source, { requestID: '1' }, headers);
    const code = partsOf(await readIn(pictureIn(first)));
    expect((await imageOf('app', source, { requestID: '1' }, headers)).text).toBe(first.text);
    expect((await imageOf('app', source, { requestID: '1', imageFormat: 'TIFF' }, headers)).status).toBe(422);
    // Another key: another signature over the same zone.
    const again = await imageOf('app', source, { requestID: '1' }, { 'Idempotency-Key': randomUUID() });
    const other = partsOf(await readIn(pictureIn(again)));
    expect([other.zone.equals(code.zone), other.signatureText === code.signatureText]).toEqual([true, false]);
  });

  it('is answered with the same refusal', async () => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const source = fromSource(openSourceOf('03'));
    const first = await imageOf('app', source, {}, headers);
    expectNoPicture(first, '1/105');
    expect((await imageOf('app', source, {}, headers)).text).toBe(first.text);
    expect((await imageOf('app', {}, {}, headers)).status).toBe(422);
    expect((await imageOf('app', source, {}, { 'Idempotency-Key': 'short' })).status).toBe(400);
  });
});
