import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { TwoDDocConfig } from '../../src/config/two-d-doc-config.ts';
import { documentTypes } from '../../src/twoddoc/tables/document-types.ts';
import { call, codeOf, description, messageOf, newKey, secretOf, send, type ApiAnswer } from '../support/api.ts';
import { readByOthers } from '../support/symbol-readers.ts';

const page = readFileSync('docs/2d-doc.md', 'utf8');
const { twoDDoc, doc2dRoot } = description;
if (twoDDoc === undefined || doc2dRoot === undefined) throw new Error('the quickstart has an identity');
const { password, keyReference: reference } = twoDDoc;
const pictures = readdirSync('docs/images/2d-doc');

const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');
const address = '<D26>FR</D26><D24>75001</D24><D22>12 RUE DU MOULIN</D22><D10>MME/MARTIN/CAMILLE</D10>';
const issueDate = '<issueDate>2026-11-20</issueDate>';
const dated = `<header>${issueDate}</header>`;
const source = (message: string, header = dated, attributes = 'type="01"', annex = ''): string =>
  base64(`<document xmlns="urn:2d-doc:source:1" ${attributes}>\n${header}\n<message>${message}</message>${annex}\n</document>`);
const foreign = (day: string): string => `<header><ca>FR00</ca><certificate>0001</certificate>${issueDate}${day}</header>`;

const creator = async (operation: string, body: object): Promise<ApiAnswer> =>
  send(
    'app',
    { path: `${doc2dRoot}/creator/${operation}`, headers: { 'Content-Type': 'application/json' } },
    Buffer.from(JSON.stringify(body)),
  );
const made = async (xml: string): Promise<ApiAnswer> => creator('createDataZone', { dataZoneSource: { source: xml } });
const drawn = async (image2DDocSource: object, more: object = {}): Promise<ApiAnswer> =>
  creator('createImage2DDoc', { image2DDocSource, ...more });
const signedFrom = async (given: object): Promise<ApiAnswer> => drawn({ dataZoneSignatureSource: { password, ...given } });
const zone = base64('DC04FR03ABCD2655265C0101FR26FR24750012212 RUE DU MOULIN\u001d10MME/MARTIN/CAMILLE');
const documents = [{ ID: 'bill', base64Data: { base64Value: zone } }];
const signed = async (
  parameters: object,
  keyReference: object = { reference, password },
  more: object = {},
  operation = 'signature/sign',
): Promise<ApiAnswer> => call('app', operation, { keyReference, parameters, inputDocuments: documents, ...more });
const code = (parameters: object): object => ({ code2DDocSignature: { code2DDocParameters: parameters } });

/** A request for each example of a message, in the order of the page. */
const refusals: readonly (() => Promise<ApiAnswer>)[] = [
  async () => creator('createDataZone', {}),
  async () => drawn({ dataZoneSignatureSource: { dataZone: zone } }),
  async () => made('***'),
  async () => drawn({ signedCode: zone }, { textOptions: { value: '漢字' } }),
  async () => drawn({ signedCode: zone }, { imageFormat: 'GIF' }),
  async () => drawn({}),
  async () => signed(code({}), secretOf(await newKey('app'))),
  async () => call('app', 'signature/remotePreSign', { parameters: code({ checkDigitalIdentity: true }), inputDocuments: documents }),
  async () => made(source(address, dated, 'type="01"', '<annex><D18>F1</D18></annex>')),
  async () => signed({ rawSignature: {} }),
  async () => signed(code({ outputMode: 'IMAGE' }), undefined, { optionalInputs: { evidenceOutput: { outputMode: 'PLAIN' } } }),
  async () => made(base64('<document')),
  async () => made(source(address, dated, 'type="99"')),
  async () => made(source(address, dated, 'type="B3"')),
  async () => made(source(address, '<header/>')),
  async () => made(source(address, '<header><issueDate>2026-02-30</issueDate></header>')),
  async () => made(source(address, `<header>${issueDate}<country>FR</country></header>`, 'type="01" version="03"')),
  async () => made(source(address.replace('MOULIN', 'Moulin'))),
  async () => made(source(address.replace('MOULIN', 'MOULIN A VENT DE LA GRANDE FONTAINE'))),
  async () => made(source(address.replace('<D24>75001</D24>', ''))),
  async () => made(source(address.replace(/<D10>.*<\/D10>/, ''))),
  async () => made(source(`${address}<D1D>42,90</D1D>`)),
  async () => made(source(`${address}<D99>X</D99>`)),
  async () => made(source(`${address}<D30>X</D30>`)),
  async () => made(base64('x'.repeat(65_537))),
  async () => signedFrom({ dataZoneSource: { source: source(`${address}<D18>${'A'.repeat(2500)}</D18>`) } }),
  async () => signedFrom({ dataZone: base64('DC04FR0000012655265C0101FR26FR\u001d2475001') }),
  async () => drawn({ signedCode: zone }),
  async () => drawn({ signedCode: base64(`DC04FR0000012655265C0101FR26FR\u001f${'A'.repeat(103)}`) }),
  async () => signed(code({}), { reference: '0'.repeat(40), password }),
  async () => signed(code({}), { reference, password: 'wrong' }),
  async () => signedFrom({ dataZone: zone }),
  async () => signedFrom({ dataZoneSource: { source: source(address, foreign('<signatureDate>2020-01-01</signatureDate>')) } }),
  async () => signed(code({ checkDigitalIdentity: true })),
];

/** Rows of the table of errors. The date is that on which the certificate of the quickstart begins. */
const rows = Array.from(page.matchAll(/^\| (\d\/\d{3}) +\| `(.*?)` +\|/gm), ([, number = '', message = '']) => `${number} ${message}`);
const withoutDates = (text: string): string => text.replace(/only from \d{4}-\d\d-\d\d$/, 'only from …');

describe('docs/2d-doc.md', () => {
  it('shows messages as the service sends them', async () => {
    const found: string[] = [];
    for (const refusal of refusals) {
      const answer = await refusal();
      found.push(withoutDates(`${codeOf(answer)} ${messageOf(answer)}`));
    }
    expect(rows.map(withoutDates)).toEqual(found);
    // Resets the count of wrong passwords.
    expect(codeOf(await signedFrom({ dataZoneSource: { source: source(address) } }))).toBe('0/0');
  });

  it('shows pictures that readers read, all of one bill', async () => {
    const shown = Array.from(page.matchAll(/\(images\/2d-doc\/([\w-]+\.png)\)/g), ([, name = '']) => name);
    expect(shown.toSorted()).toEqual(pictures);
    const [, bill = ''] = /^```text\n(DC04.*)\n```$/m.exec(page) ?? [];
    for (const picture of pictures) {
      const { dmtxread, zxing } = await readByOthers(readFileSync(`docs/images/2d-doc/${picture}`));
      const zoneRead = dmtxread?.toString('latin1').split('\u001f')[0]?.replaceAll('\u001d', '|');
      expect([picture, zoneRead?.replace(/^(.{16}).{4}/, '$1____')]).toEqual([picture, bill]);
      expect(zxing).toEqual(dmtxread);
    }
  });

  it('shows a configuration that is accepted, and names the types without a date', () => {
    const [, text = ''] = /^```yaml\n([^]*?)^```$/m.exec(page) ?? [];
    const { tenants } = z.object({ tenants: z.object({ billing: z.object({ twoDDoc: TwoDDocConfig }) }) }).parse(parse(text));
    const { identities, ...settings } = tenants.billing.twoDDoc;
    expect(identities).toHaveLength(1);
    expect(settings).toEqual({ modulePixels: 5, dpi: 300, quietZoneModules: 1, encodation: 'C40', allowTestIdentifiers: false });
    const undated = documentTypes().flatMap(({ code: type, issueDate: rule }) => (rule === 'undated' ? [type] : []));
    expect(page).toContain(`(\`FFFF\` in the zone): ${undated.toSorted().join(', ')}`);
  });
});
