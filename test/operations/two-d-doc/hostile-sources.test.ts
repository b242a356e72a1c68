import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeOf, messageOf } from '../../support/api.ts';
import { repetitions } from '../../support/repetitions.ts';
import { succeeds } from '../../support/succeeds.ts';
import { madeSources, validSourceOf, xmlOf } from '../../support/two-d-doc-sources.ts';
import { judgedByXmllint } from '../../support/xmllint.ts';
import { base64, decoded, expectNoPicture, expectRefusal, identity, imageOf, zoneFor } from './calls.ts';

const valid = validSourceOf('01');
let server: Server;
let requests = 0;

beforeAll(async () => {
  server = createServer((_request, response) => {
    requests += 1;
    response.end('<!ENTITY e "A">');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  server.close();
});

const here = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.dtd`;
const withDoctype = (doctype: string, value = 'A'): string =>
  valid.replace('<document', `${doctype}\n<document`).replace('<D10>', `<D10>${value}`);
const laughs = Array.from({ length: 12 }, (_, at) => `<!ENTITY e${at} "${at === 0 ? 'HA' : `&e${at - 1};`.repeat(10)}">`).join('');
const inMessage = (xml: string): string => valid.replace('<message>', `<message>${xml}`);

describe('a hostile source', () => {
  it.each<[string, () => string | Buffer]>([
    ['a document type', () => withDoctype('<!DOCTYPE document>')],
    ['an internal entity', () => withDoctype('<!DOCTYPE document [<!ENTITY e "A">]>', '&e;')],
    ['an entity of a file', () => withDoctype('<!DOCTYPE document [<!ENTITY e SYSTEM "file:///etc/passwd">]>', '&e;')],
    ['an entity of the network', () => withDoctype(`<!DOCTYPE document [<!ENTITY e SYSTEM "${here()}">]>`, '&e;')],
    ['a document type of the network', () => withDoctype(`<!DOCTYPE document SYSTEM "${here()}">`)],
    ['a parameter entity', () => withDoctype(`<!DOCTYPE document [<!ENTITY % e SYSTEM "${here()}"> %e;]>`)],
    [
      'a schema of the network',
      () =>
        valid
          .replace(
            'type="01"',
            `type="01" xmlns:x="http://www.w3.org/2001/XMLSchema-instance" x:schemaLocation="urn:2d-doc:source:1 ${here()}"`,
          )
          .replace('<D26>', '<D26>~'),
    ],
    [
      'a style sheet and an inclusion of the network',
      () => inMessage(`<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="${here()}"/>`),
    ],
    ['a billion laughs', () => withDoctype(`<!DOCTYPE document [${laughs}]>`, '&e11;')],
    ['quadratic entities', () => withDoctype(`<!DOCTYPE document [<!ENTITY e "${'A'.repeat(20_000)}">]>`, '&e;'.repeat(5000))],
    ['elements 10,000 deep', () => inMessage(`${'<a>'.repeat(10_000)}${'</a>'.repeat(9999)}</a>`)],
    ['elements without an end', () => '<a>'.repeat(20_000)],
    ['10,000 attributes', () => valid.replace('<message', `<message ${Array.from({ length: 4000 }, (_, at) => `a${at}=""`).join(' ')}`)],
    [
      'a namespace for each of many elements',
      () => inMessage(Array.from({ length: 1000 }, (_, at) => `<a${at}:b xmlns:a${at}="urn:${at}"/>`).join('')),
    ],
    ['a comment that is no comment', () => inMessage('<!-- -- -->')],
    ['64 KiB and one byte', () => valid.padEnd(65_537)],
    ['16 MiB', () => valid.padEnd(16 * 1024 * 1024)],
    ['a value of 60,000 characters', () => valid.replace('<D10>', `<D10>${'A'.repeat(60_000)}`)],
    ['UTF-16 that says it is UTF-8', () => Buffer.from(`\ufeff${valid}`, 'utf16le')],
    ['UTF-7', () => valid.replace('UTF-8', 'UTF-7')],
    ['invalid UTF-8', () => Buffer.concat([Buffer.from(valid.slice(0, 200)), Buffer.of(0xc3, 0x28), Buffer.from(valid.slice(200))])],
    ['NUL', () => Buffer.alloc(1000)],
    ['a gzip bomb', () => Buffer.from('H4sIAAAAAAAAA+3BMQEAAADCoPVPbQwfoAAAAAAAAAAAAAAAAAAAAIC3AYbSVKsAQAAA', 'base64')],
  ])('with %s is refused with 1/105 by both operations', async (_what, source) => {
    const made = source();
    const answer = await zoneFor('other', made);
    expectRefusal(answer, '1/105', /^\/dataZoneSource\/source: .{10}/);
    expect(messageOf(answer).length).toBeLessThan(2000);
    expect(answer.text).not.toContain('root:');
    const drawn = await imageOf('app', {
      dataZoneSignatureSource: { password: identity.password, dataZoneSource: { source: base64(made) } },
    });
    expectNoPicture(drawn, '1/105', /^\/image2DDocSource\/dataZoneSignatureSource\/dataZoneSource\/source: .{10}/);
  });

  it('has nothing fetched, and leaves a service that answers', async () => {
    expect(requests).toBe(0);
    succeeds(await zoneFor('other', valid));
  });
});

const pieces = fc.oneof(
  fc.constantFrom(...['<', '>', '&', '"', '/>', '</', '&#29;', '&#0;', '&lt;', ']]>', '<!--', '<![CDATA[', '<?a?>', '<!DOCTYPE a>']),
  fc.constantFrom(...['<D10>', '</D10>', '<D22/>', '<DZZ>A</DZZ>', '</message>', '<message>', '<header/>', 'xmlns=""', 'type="02"']),
  fc.constantFrom(...['é', '\u{1f600}', '~', 'a', '0', '-', ' ', '\n', '9999', 'FFFF', '']),
);
const changes = fc.array(fc.record({ at: fc.nat(10_000), removed: fc.nat(20), inserted: pieces }), { minLength: 1, maxLength: 3 });

describe('a source that was changed at random', () => {
  it('is refused with 1/105, or is one that xmllint finds valid, too', async () => {
    const runs = repetitions(1000, 100);
    const outcomes = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(madeSources(), changes, async (made, changed) => {
        const source = changed.reduce(
          (before, { at, removed, inserted }) => {
            const start = at % before.length;
            return before.slice(0, start) + inserted + before.slice(start + removed);
          },
          xmlOf({ ...made, annex: [] }),
        );
        const answer = await zoneFor('other', source);
        const code = codeOf(answer);
        outcomes.set(code, (outcomes.get(code) ?? 0) + 1);
        if (code !== '0/0') {
          expectRefusal(answer, '1/105', /^\/dataZoneSource\/source: .{10}/);
          return;
        }
        const type = decoded(answer.body['dataZone']).toString('latin1').slice(20, 22);
        expect(judgedByXmllint(type, [source])).toEqual([true]);
      }),
      { numRuns: runs },
    );
    expect(outcomes.get('1/105')).toBeGreaterThan(runs / 2);
    succeeds(await zoneFor('other', valid));
  });
});
