import { readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { call, codeOf, description, messageOf, textOf, type ApiAnswer, type ClientName } from '../../support/api.ts';
import { partsOf, opensslVerifies } from '../../support/signed-codes.ts';
import { readByOthers } from '../../support/symbol-readers.ts';
import { madeSourceOf, madeZone, validSourceOf, xmlOf } from '../../support/two-d-doc-sources.ts';

const { twoDDoc: identity } = description;
if (identity === undefined) throw new Error('the quickstart has a digital identity');
const { password } = identity;
const certificate = readFileSync(identity.certificate, 'utf8');

interface Sample {
  readonly id: string;
  readonly version: string;
  readonly payloadBase64?: string;
}
const { samples } = JSON.parse(readFileSync(new URL('../../fixtures/2d-doc/samples.json', import.meta.url), 'utf8')) as {
  samples: Sample[];
};

/** An invoice whose header names nobody. */
const invoice = (message = '<D26>FR</D26><D24>75001</D24><D22>12 RUE DU MOULIN</D22><D10>MME/MARTIN/CAMILLE</D10>', more = ''): string =>
  `<document xmlns="urn:2d-doc:source:1" type="01"><header><issueDate>2026-11-20</issueDate><signatureDate>2026-11-25</signatureDate></header><message>${message}</message>${more}</document>`;
const invoiceZone = 'DC04FR000001265C26610101FR26FR24750012212 RUE DU MOULIN\u001d10MME/MARTIN/CAMILLE';
const base64 = (content: string | Buffer): string => Buffer.from(content as string, 'latin1').toString('base64');
const sourceOf = (xml: string): object => ({ dataZoneSource: { source: Buffer.from(xml).toString('base64') } });

const createZone = async (body: object, client: ClientName = 'app'): Promise<ApiAnswer> => call(client, 'creator/createDataZone', body);
const createImage = async (source: object, more: object = {}, headers: Record<string, string> = {}): Promise<ApiAnswer> =>
  call('app', 'creator/createImage2DDoc', { image2DDocSource: source, ...more }, headers);
const signed = (what: object, secret = password): object => ({ dataZoneSignatureSource: { password: secret, ...what } });
const imageIn = ({ body }: ApiAnswer): Buffer => Buffer.from(textOf(body['image']), 'base64');

/** The code in the picture of a success, which two readers must read alike. */
async function codeIn(answer: ApiAnswer): Promise<Buffer> {
  expect([codeOf(answer), messageOf(answer)]).toEqual(['0/0', 'success']);
  const { dmtxread, zxing } = await readByOthers(imageIn(answer));
  expect(dmtxread?.equals(zxing ?? Buffer.alloc(0))).toBe(true);
  return dmtxread ?? Buffer.alloc(0);
}

function expectNoImage(answer: ApiAnswer, code: string, message: string): void {
  expect([codeOf(answer), messageOf(answer)]).toEqual([code, expect.stringContaining(message) as string]);
  expect(Object.keys(answer.body).toSorted()).toEqual(['height', 'result', 'width']);
  expect([answer.body['width'], answer.body['height']]).toEqual([0, 0]);
}

describe('createDataZone', () => {
  it('makes the zone of a source; identifiers are those of the identity that may sign the type', async () => {
    const { status, body } = await createZone({ ...sourceOf(invoice()), requestID: 'z-1' });
    expect([status, body['requestID'], body['result']]).toEqual([200, 'z-1', { majorCode: 0, minorCode: 0, message: 'success' }]);
    expect(Buffer.from(textOf(body['dataZone']), 'base64').toString('latin1')).toBe(invoiceZone);
  });

  it('needs no identity for a source that names its identifiers', async () => {
    const source = madeSourceOf('06', { optional: 'all' });
    const { body } = await createZone(sourceOf(xmlOf(source)), 'other');
    expect(Buffer.from(textOf(body['dataZone']), 'base64').toString('latin1')).toBe(madeZone(source));
  });

  it.each([
    ['1/101', '/dataZoneSource', {}],
    ['1/101', '/dataZoneSource/source', { dataZoneSource: {} }],
    ['1/102', '/dataZoneSource/source', { dataZoneSource: { source: 'not base64' } }],
    ['1/102', '/dataZoneSource/extra', { dataZoneSource: { source: base64('x'), extra: 1 } }],
    ['1/105', '/dataZoneSource/source', { dataZoneSource: { source: '' } }],
    ['1/105', 'D24', sourceOf(invoice('<D26>FR</D26><D24>7500A</D24><D22>X</D22><D10>Y</D10>'))],
    ['1/105', 'line', sourceOf(invoice('<D26>FR</D26>'))],
    ['1/105', 'type 29', sourceOf(invoice().replace('type="01"', 'type="29"'))],
    ['1/105', 'DOCTYPE', sourceOf(`<!DOCTYPE document>${invoice()}`)],
    ['1/105', '65536', sourceOf(`<!--${'-'.repeat(0)}${'x'.repeat(65_536)}-->${invoice()}`)],
    ['1/104', 'annex', sourceOf(invoice(undefined, '<annex><D01>SERIE7</D01></annex>'))],
    ['1/105', 'no ca and no certificate', sourceOf(validSourceOf('03').replace(/<ca>.*<.certificate>/, ''))],
  ])('refuses with %s: %s', async (code, message, body) => {
    const answer = await createZone(body);
    expect([codeOf(answer), messageOf(answer)]).toEqual([code, expect.stringContaining(message) as string]);
    expect(Object.keys(answer.body)).toEqual(['result']);
  });

  it('is for clients with the role, and takes identities from their tenant alone', async () => {
    expect((await createZone(sourceOf(invoice()), 'signer')).status).toBe(403);
    const answer = await createZone(sourceOf(invoice()), 'other');
    expect([codeOf(answer), messageOf(answer)]).toEqual(['1/105', expect.stringContaining('no digital identity of yours') as string]);
  });
});

describe('createImage2DDoc', () => {
  it('signs the zone of a source, and draws its code with the text below', async () => {
    const answer = await createImage(signed(sourceOf(invoice())), { requestID: 'i-1' });
    expect(answer.body['requestID']).toBe('i-1');
    const parts = partsOf(await codeIn(answer));
    expect(parts.zone.toString('latin1')).toBe(invoiceZone);
    expect(opensslVerifies(parts, certificate)).toBe(true);
    // A symbol of 44 modules with its quiet zone, 5 pixels a module, and the text below it.
    expect([answer.body['width'], Number(answer.body['height']) > 230]).toEqual([230, true]);
    expect(imageIn(answer).subarray(1, 4).toString()).toBe('PNG');
  });

  it.each([
    ['PNG', 'TOP'],
    ['PNG', 'LEFT'],
    ['TIFF', 'RIGHT'],
    ['TIFF', 'BOTTOM'],
  ] as const)('draws %s with the text at the side %s', async (imageFormat, position) => {
    const answer = await createImage(signed(sourceOf(invoice())), { imageFormat, textOptions: { position, value: 'Reçu' } });
    expect(opensslVerifies(partsOf(await codeIn(answer)), certificate)).toBe(true);
    const { width, height } = answer.body;
    expect(Number(width) > Number(height)).toBe(position === 'LEFT' || position === 'RIGHT');
    const image = imageIn(answer);
    const judge = imageFormat === 'PNG' ? 'pngcheck -v' : 'tiffinfo';
    const script = `f=$(mktemp); cat > "$f"; ${judge} "$f" 2>&1; rm "$f"`;
    const said = execFileSync('sh', ['-c', script], { input: image, encoding: 'utf8' });
    expect(said).toMatch(imageFormat === 'PNG' ? /1-bit grayscale[^]*300 dpi[^]*No errors/ : /Resolution: 300, 300[^]*Bits\/Sample: 1/);
    expect(said).not.toMatch(/warning/i);
  });

  it('takes a ready-made zone before a source, and both before a signed code', async () => {
    const zone = invoiceZone.replace('CAMILLE', 'DOMINIQUE');
    const source = { ...signed({ ...sourceOf('<nothing/>'), dataZone: base64(zone) }), signedCode: base64('nothing') };
    const parts = partsOf(await codeIn(await createImage(source)));
    expect(parts.zone.toString('latin1')).toBe(zone);
    expect(opensslVerifies(parts, certificate)).toBe(true);
  });

  it('puts the annex of a source behind the signature', async () => {
    const xml = invoice(undefined, '<annex><D01>SERIE7</D01><D09>0001</D09></annex>');
    const parts = partsOf(await codeIn(await createImage(signed(sourceOf(xml)))));
    expect([parts.zone.toString('latin1'), parts.annex]).toEqual([invoiceZone, '01SERIE7\u001d090001']);
    expect(opensslVerifies(parts, certificate)).toBe(true);
  });

  const printed = samples.flatMap(({ payloadBase64, ...sample }) => (payloadBase64 === undefined ? [] : [{ ...sample, payloadBase64 }]));
  const foreign = printed.filter(({ payloadBase64 }) => Buffer.from(payloadBase64, 'base64').toString('latin1', 4, 12) !== 'FR000001');
  it('draws codes of other makers as they are', async () => {
    expect(foreign.length).toBeGreaterThan(0);
    for (const { payloadBase64 } of foreign)
      expect((await codeIn(await createImage({ signedCode: payloadBase64 }))).toString('base64')).toBe(payloadBase64);
    const unknown = Buffer.from(printed.find(({ version }) => version === '01')?.payloadBase64 ?? '', 'base64');
    unknown.write('FR03', 4, 'latin1');
    expect((await codeIn(await createImage({ signedCode: unknown.toString('base64') }))).equals(unknown)).toBe(true);
  });

  it('draws a code of its own, unless its signature is wrong', async () => {
    const code = await codeIn(await createImage(signed(sourceOf(invoice()))));
    expect((await codeIn(await createImage({ signedCode: code.toString('base64') }))).equals(code)).toBe(true);
    const changed = Buffer.from(code.toString('latin1').replace('CAMILLE', 'CAMILLA'), 'latin1').toString('base64');
    expectNoImage(await createImage({ signedCode: changed }), '1/105', 'does not verify under the certificate of your digital identity');
    // The identifiers are an identity's, but the signature is another one's.
    const sample = printed.find(({ payloadBase64 }) => Buffer.from(payloadBase64, 'base64').toString('latin1', 4, 12) === 'FR000001');
    expectNoImage(await createImage({ signedCode: sample?.payloadBase64 }), '1/105', 'FR00 0001');
    // Another tenant has no such identity.
    const others = await call('other', 'creator/createImage2DDoc', { image2DDocSource: { signedCode: changed } });
    expect(codeOf(others)).toBe('0/0');
  });

  it('refuses without an image: what it says of width and height is 0', async () => {
    const ofInvoice = sourceOf(invoice());
    const longZone = `${invoiceZone}\u001d01${'A'.repeat(2600)}`;
    const zoneOf = (text: string): object => signed({ dataZone: base64(text) });
    expectNoImage(await createImage({}), '1/103', '/image2DDocSource: dataZoneSignatureSource or signedCode is required');
    expectNoImage(await createImage(signed({})), '1/103', 'dataZone or dataZoneSource is required');
    expectNoImage(await createImage({ dataZoneSignatureSource: ofInvoice }), '1/101', '/password');
    expectNoImage(await createImage({ signedCode: '?' }), '1/102', '/image2DDocSource/signedCode');
    expectNoImage(await createImage({ signedCode: base64('DC04') }), '1/105', 'no 2D-Doc code');
    expectNoImage(await createImage({ signedCode: base64(invoiceZone) }), '1/105', 'has no signature');
    expectNoImage(await createImage(signed(sourceOf('<x/>'))), '1/105', '/dataZoneSource/source');
    expectNoImage(await createImage(zoneOf(invoiceZone.replace('24', '2Z'))), '1/105', '/dataZone');
    expectNoImage(await createImage(zoneOf(invoiceZone.replace('FR000001', 'FR000002'))), '2/261', 'no digital identity FR00 0002');
    expectNoImage(await createImage(signed(sourceOf(validSourceOf('03')))), '2/261', 'does not sign documents of type 03');
    const tax = invoice().replace('type="01"', 'type="07"');
    expectNoImage(await createImage(signed(sourceOf(tax))), '1/105', 'type 07');
    expectNoImage(await createImage(zoneOf(longZone)), '1/105', 'too large for a symbol');
    expectNoImage(await createImage(zoneOf(`${invoiceZone}\u001d01${'A'.repeat(4000)}`)), '1/105', '3116');
    expectNoImage(await createImage(signed(ofInvoice), { imageFormat: 'GIF' }), '1/102', '/imageFormat');
    expectNoImage(await createImage(signed(ofInvoice), { textOptions: { value: 'x'.repeat(65) } }), '1/102', '/textOptions/value');
    expectNoImage(await createImage(signed(ofInvoice), { textOptions: { value: 'a\u0007' } }), '1/102', 'U+0007');
    expectNoImage(await createImage(signed(ofInvoice), { textOptions: { side: 'TOP' } }), '1/102', '/textOptions/side');
    expectNoImage(await createImage(signed(ofInvoice, `${password}x`)), '2/202', 'activation failed');
    // A success gives the attempt back.
    expect(codeOf(await createImage(signed(ofInvoice)))).toBe('0/0');
  });

  it('refuses types that the identity may not sign', async () => {
    const zone = madeZone(madeSourceOf('A8')).replace(/^DC04......../, 'DC04FR000001');
    expectNoImage(await createImage(signed({ dataZone: base64(zone) })), '2/261', 'does not sign documents of type A8, only 00, 01');
  });

  it('is carried out once with an Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': `two-d-doc-${process.pid}-${Date.now()}` };
    const first = await createImage(signed(sourceOf(invoice())), {}, headers);
    const second = await createImage(signed(sourceOf(invoice())), {}, headers);
    expect([codeOf(first), second.body['image']]).toEqual(['0/0', first.body['image']]);
    expect((await createImage(signed(sourceOf(invoice())), { imageFormat: 'TIFF' }, headers)).status).toBe(422);
  });
});

describe('wrong sources', () => {
  const attacks = {
    entities: invoice().replace('<document', '<!DOCTYPE document [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><document'),
    'an outside entity': `<!DOCTYPE document SYSTEM "http://127.0.0.1:1/x">${invoice()}`,
    'a deep tree': `${'<a>'.repeat(10_000)}${'</a>'.repeat(10_000)}`,
    'many attributes': invoice().replace('<message>', `<message ${Array.from({ length: 2000 }, (_, index) => `a${index}=""`).join(' ')}>`),
    'a huge value': invoice().replace('CAMILLE', 'A'.repeat(60_000)),
    'more than 64 KiB': invoice().replace('CAMILLE', 'A'.repeat(70_000)),
    'no XML': 'DC04FR000001',
    nothing: '',
    'another encoding': Buffer.from(`\ufeff${invoice()}`, 'utf16le').toString('latin1').slice(0, 99),
  };

  it.each(Object.entries(attacks))('are refused: %s', async (_name, xml) => {
    const body = { dataZoneSource: { source: Buffer.from(xml, 'latin1').toString('base64') } };
    expect(codeOf(await createZone(body))).toBe('1/105');
    expectNoImage(await createImage(signed(body)), '1/105', '/dataZoneSource/source');
  });

  it('with any change are a zone or 1/105, and the service goes on', async () => {
    const valid = Buffer.from(invoice());
    const changed = Array.from({ length: 60 }, (_, index) => {
      const copy = Buffer.from(valid);
      copy[(index * 7919) % copy.length] = index % 2 === 0 ? 0x41 : (index * 104_729) % 256;
      return index % 3 === 0 ? copy.subarray(0, copy.length - 1 - index) : copy;
    });
    const answers = await Promise.all(changed.map(async (xml) => createZone({ dataZoneSource: { source: xml.toString('base64') } })));
    expect([...new Set(answers.map(codeOf))].filter((code) => code !== '0/0')).toEqual(['1/105']);
    expect(codeOf(await createZone(sourceOf(invoice())))).toBe('0/0');
  });
});
