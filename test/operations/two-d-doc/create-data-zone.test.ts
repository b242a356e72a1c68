import { describe, expect, it } from 'vitest';
import { codeOf, description, messageOf, send, textOf } from '../../support/api.ts';
import { succeeds } from '../../support/succeeds.ts';
import { madeSourceOf, madeZone, validSourceOf, xmlOf } from '../../support/two-d-doc-sources.ts';
import { exampleSource, publishedExamples } from '../../support/two-d-doc-tables.ts';
import { hexDay } from '../../support/two-d-doc-values.ts';
import { base64, callCreator, expectRefusal, identity, openSourceOf, zoneFor, zoneOf } from './calls.ts';

const at = '/dataZoneSource/source: ';
const daysSince2000 = (): number => Math.floor((Date.now() - Date.UTC(2000, 0, 1)) / 86_400_000);

describe('createDataZone', () => {
  it.each(publishedExamples.filter(({ annex }) => annex === undefined))(
    'makes the published zone of $file, whoever asks',
    async ({ file, dataZoneBase64 }) => {
      for (const client of ['app', 'other'] as const) {
        const answer = succeeds(await zoneFor(client, exampleSource(file), { requestID: `zone of ${file}` }));
        expect(answer.body).toEqual({
          dataZone: dataZoneBase64,
          requestID: `zone of ${file}`,
          result: { majorCode: 0, minorCode: 0, message: 'success' },
        });
      }
    },
  );

  it('puts what the source leaves out: the identifiers of the one identity, today, FR', async () => {
    const before = daysSince2000();
    const zone = (await zoneOf('app', openSourceOf('01'))).toString('latin1');
    const days = [before, daysSince2000()].map((day) => hexDay(day));
    const made = madeSourceOf('01');
    expect(days.map((signatureDate) => madeZone({ ...made, header: { ...made.header, signatureDate } }))).toContain(zone);
    expect(zone.slice(0, 12)).toBe(`DC04${identity.caId}${identity.certificateId}`);
  });

  it.each(['02', '03', '04'] as const)('makes zones of version %s', async (version) => {
    const made = madeSourceOf('A0', { version, optional: 'all' });
    expect((await zoneOf('other', xmlOf(made))).toString('latin1')).toBe(madeZone(made));
  });

  it('puts one identifier that is left out beside the other, which must fit', async () => {
    for (const part of [/<ca>.*<\/ca>/, /<certificate>.*<\/certificate>/])
      expect((await zoneOf('app', validSourceOf('01').replace(part, ''))).toString('latin1')).toBe(madeZone(madeSourceOf('01')));
    const foreign = validSourceOf('01')
      .replace('FR00', 'FR99')
      .replace(/<certificate>.*<\/certificate>/, '');
    expectRefusal(await zoneFor('app', foreign), '1/105', /has no certificate, .* type 01: no digital identity of yours/);
  });

  it('answers 1/105 where no identity may sign: another type, another tenant', async () => {
    expectRefusal(await zoneFor('app', openSourceOf('03')), '1/105', new RegExp(`^${at}.*no ca and no certificate.*type 03`));
    expectRefusal(await zoneFor('other', openSourceOf('01')), '1/105', /no digital identity of yours/);
    // Identifiers that are given need no identity.
    expect(codeOf(await zoneFor('other', validSourceOf('03')))).toBe('0/0');
  });

  it('answers 1/104 to an annex, which is no part of the zone', async () => {
    expectRefusal(await zoneFor('app', exampleSource('example-v04-01-truncated-annex.xml')), '1/104', /annex.*createImage2DDoc/);
  });

  const fieldOf = (xml: string): object => ({ dataZoneSource: { source: base64(xml) } });
  it.each<[string, string, unknown, RegExp]>([
    ['1/101', 'no source', {}, /^\/dataZoneSource: /],
    ['1/101', 'an empty source object', { dataZoneSource: {} }, /^\/dataZoneSource\/source: /],
    ['1/101', 'a missing and an unknown member', { dataZoneSource: {}, more: 1 }, /^\/dataZoneSource\/source: /],
    ['1/102', 'text that is not base64', { dataZoneSource: { source: '<document/>' } }, /^\/dataZoneSource\/source: /],
    ['1/102', 'base64 without its padding', { dataZoneSource: { source: 'PGE' } }, /^\/dataZoneSource\/source: /],
    ['1/102', 'a number', { dataZoneSource: { source: 1 } }, /^\/dataZoneSource\/source: /],
    ['1/102', 'null', { dataZoneSource: null }, /^\/dataZoneSource: /],
    ['1/102', 'an unknown member', { ...fieldOf(validSourceOf('01')), textOptions: {} }, /textOptions/],
    ['1/102', 'an unknown member beside an invalid source', { ...fieldOf('<a/>'), dataZone: '' }, /dataZone/],
    ['1/102', 'an unknown member inside', { dataZoneSource: { source: base64(validSourceOf('01')), type: '01' } }, /type/],
    ['1/102', 'a requestID that is no text', { ...fieldOf(validSourceOf('01')), requestID: 7 }, /^\/requestID: /],
  ])('answers %s to %s', async (code, _what, body, message) => {
    const answer = await callCreator('app', 'createDataZone', body);
    expectRefusal(answer, code, message);
    expect(answer.body['dataZone']).toBeUndefined();
  });

  it.each<[string, string, RegExp]>([
    ['a field that the type does not have', validSourceOf('01').replace('<D10>', '<DA0>1</DA0><D10>'), /DA0 \(line \d+\)/],
    ['a mandatory field missing', validSourceOf('01').replace(/<D26>.*<\/D26>/, ''), /D?26/],
    ['a value that is too long', validSourceOf('01').replace('<D24>', '<D24>999999'), /D24 \(line \d+\).*5/],
    ['a day that is none', validSourceOf('01').replace('2012-11-15', '2012-02-30'), /issueDate \(line 3\)/],
    ['a type that does not exist', validSourceOf('01').replace('type="01"', 'type="ZZ"'), /ZZ/],
    ['a type of which only the name is known', validSourceOf('01').replace('type="01"', 'type="29"'), /29/],
    ['version 01', validSourceOf('01').replace('version="04"', 'version="01"'), /version/],
    ['a country in version 03', validSourceOf('01', { version: '03' }).replace('</header>', '<country>FR</country></header>'), /country/],
    ['no XML', 'Bonjour', /line 1/],
    ['a ready-made zone', 'DC04FR000001', /ready-made zone.*dataZone/],
    ['nothing', '', /source/],
  ])('answers 1/105 to a source with %s, and names what is wrong', async (_what, source, message) => {
    const answer = await zoneFor('app', source, { requestID: 'wrong' });
    expectRefusal(answer, '1/105', message);
    expect(messageOf(answer).startsWith(at)).toBe(true);
    expect([answer.body['dataZone'], textOf(answer.body['requestID'])]).toEqual([undefined, 'wrong']);
  });

  it('needs the role doc2d, before the body is looked at', async () => {
    const source = { dataZoneSource: { source: base64(validSourceOf('01')) } };
    for (const body of [source, '{'])
      for (const operation of ['createDataZone', 'createImage2DDoc'] as const) {
        const answer = await callCreator('signer', operation, body);
        expect([answer.status, answer.headers['content-type']]).toEqual([403, expect.stringContaining('application/problem+json')]);
      }
    expect((await callCreator('unregistered', 'createDataZone', source)).status).toBe(403);
  });

  it('answers with a status what is no request', async () => {
    const path = `${description.doc2dRoot ?? ''}/creator/createDataZone`;
    expect((await callCreator('app', 'createDataZone', '{"dataZoneSource":{},"dataZoneSource":{}}')).status).toBe(400);
    expect((await callCreator('app', 'createDataZone', '{}', { 'Content-Type': 'application/xml' })).status).toBe(415);
    expect((await send('app', { path, method: 'GET' })).status).toBe(405);
    expect((await send('app', { path: `${path}s` }, '{}')).status).toBe(404);
  });
});
