import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, evidenceOf, newKey, secretOf, type ApiAnswer, type ClientName, type TestKey } from '../../support/api.ts';
import { readByOthers } from '../../support/symbol-readers.ts';
import { succeeds } from '../../support/succeeds.ts';
import { opensslVerifies, partsOf, publicKeyOf } from '../../support/two-d-doc-codes.ts';
import { madeSourceOf, madeZone } from '../../support/two-d-doc-sources.ts';
import {
  base64,
  codeSignature,
  expectRefusal,
  identity,
  identityKey,
  imageOf,
  openSourceOf,
  pictureIn,
  signZones,
  zoneDocuments,
  zoneOf,
  type CodeOptions,
} from './calls.ts';

const schema = fileURLToPath(new URL('../../../src/twoddoc/schemas/2ddoc-signed.xsd', import.meta.url));
const identityPublicKey = publicKeyOf(readFileSync(identity.certificate, 'utf8'));
const zoneOfType = (type: string): Buffer => Buffer.from(madeZone(madeSourceOf(type)), 'latin1');
/** Of FR00 0001, before its certificate was valid. */
const zone = zoneOfType('01');
const foreignZone = Buffer.from(zone.toString('latin1').replace('FR000001', 'FR98AB12'), 'latin1');
/** What the identity may sign. */
let ownZone: Buffer;
const keys = new Map<ClientName, TestKey>();

beforeAll(async () => {
  ownZone = await zoneOf('app', openSourceOf('01'));
  for (const client of ['app', 'other', 'p384'] as const) keys.set(client, await newKey(client));
});

function keyOf(client: ClientName): TestKey {
  const key = keys.get(client);
  if (key === undefined) throw new Error(`no key of ${client}`);
  return key;
}

const asIdentity = async (documents: readonly object[], options?: CodeOptions, more: object = {}): Promise<ApiAnswer> =>
  signZones('app', identityKey, documents, options, more);
const as = async (client: ClientName, documents: readonly object[], options?: CodeOptions, more: object = {}): Promise<ApiAnswer> =>
  signZones(client, secretOf(keyOf(client)), documents, options, more);
const documentOf = ({ body }: ApiAnswer, index = 0): unknown => body['evidenceObjects']?.[index]?.['document'];

/** Has xmllint validate a document signed2DDoc, and returns what XPath expressions find in it. */
function readSigned(xml: Buffer, ...expressions: readonly string[]): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-signed-'));
  try {
    const path = join(directory, 'signed.xml');
    writeFileSync(path, xml);
    execFileSync('xmllint', ['--noout', '--nonet', '--schema', schema, path], { stdio: 'pipe' });
    return expressions.map((expression) => {
      const found = execFileSync('xmllint', ['--nonet', '--xpath', `string(${expression})`, path], { encoding: 'utf8' });
      return found.replace(/\n$/, '');
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const at = (...names: readonly string[]): string => names.map((name) => `/*[local-name()="${name}"]`).join('');

describe('sign with code2DDocSignature', () => {
  it('answers the code of the zone, by default and as SIGNED_CODE, which OpenSSL verifies', async () => {
    for (const options of [undefined, {}, { outputMode: 'SIGNED_CODE' }] as const) {
      const answer = succeeds(await asIdentity(zoneDocuments(ownZone), options, { requestID: 'r' }));
      const code = partsOf(evidenceOf(answer));
      expect([code.zone.equals(ownZone), code.annex, opensslVerifies(code, identityPublicKey)]).toEqual([true, undefined, true]);
      expect(documentOf(answer)).toMatchObject({ ID: 'd0', fileName: 'zone0.txt.2ddoc', mimeType: 'text/plain' });
      expect(answer.body).toMatchObject({ requestID: 'r', optionalOutputs: { signatureAlgorithm: '1.2.840.10045.4.3.2' } });
    }
  });

  it.each([
    ['other', 103, '1.2.840.10045.4.3.2'],
    ['p384', 154, '1.2.840.10045.4.3.3'],
  ] as const)('with an ordinary key of %s signs what header the zone has, in %d characters', async (client, characters, oid) => {
    const answer = succeeds(await as(client, zoneDocuments(foreignZone, zone), { checkDigitalIdentity: false }));
    for (const [index, signed] of [foreignZone, zone].entries()) {
      const code = partsOf(evidenceOf(answer, index));
      expect([code.zone.equals(signed), code.signatureText.length]).toEqual([true, characters]);
      expect(opensslVerifies(code, publicKeyOf(keyOf(client).certificate))).toBe(true);
    }
    expect(answer.body['optionalOutputs']).toEqual({ signatureAlgorithm: oid });
  });

  it('answers an XML document that its schema allows and that says what is in the code', async () => {
    const answer = succeeds(await asIdentity(zoneDocuments(ownZone), { outputMode: 'XML', checkDigitalIdentity: true }));
    expect(documentOf(answer)).toMatchObject({ fileName: expect.stringMatching(/^zone0.*\.xml$/) as string, mimeType: 'application/xml' });
    const root = (...names: readonly string[]): string => at('signed2DDoc', ...names);
    const [dataZone = '', signature = '', certificate = '', oid, namespace, type, ca, issued, name] = readSigned(
      evidenceOf(answer),
      ...[root('dataZone'), root('signature'), root('certificate'), `${root('signature')}/@algorithm`, 'namespace-uri(/*)'],
      ...[root('header', 'type'), root('header', 'ca'), root('header', 'issueDate'), `${root('message', 'field')}[@id="10"]`],
    );
    expect(Buffer.from(dataZone, 'base64').equals(ownZone)).toBe(true);
    expect([oid, namespace, type, ca, issued]).toEqual(['1.2.840.10045.4.3.2', 'urn:2d-doc:signed:1', '01', 'FR00', '2012-11-15']);
    expect(name).toBe(madeSourceOf('01').fields.find(({ id }) => id === '10')?.zone ?? '');
    const der = Buffer.from(certificate, 'base64');
    expect(publicKeyOf(der)).toBe(identityPublicKey);
    expect(opensslVerifies({ zone: ownZone, signature: Buffer.from(signature, 'base64') }, publicKeyOf(der))).toBe(true);
    const ordinary = succeeds(await as('p384', zoneDocuments(foreignZone), { outputMode: 'XML' }));
    const [value = '', algorithm] = readSigned(evidenceOf(ordinary), root('signature'), `${root('signature')}/@algorithm`);
    expect([Buffer.from(value, 'base64').length, algorithm]).toEqual([96, '1.2.840.10045.4.3.3']);
  });

  it.each(['PNG', 'TIFF'] as const)('answers a picture of the code as %s, with the text 2D-Doc below', async (imageFormat) => {
    const answer = succeeds(await as('other', zoneDocuments(foreignZone), { outputMode: 'IMAGE', imageFormat }));
    const ending = imageFormat.toLowerCase();
    expect(documentOf(answer)).toMatchObject({ fileName: `zone0.txt.${ending}`, mimeType: `image/${ending}` });
    const picture = evidenceOf(answer);
    const { dmtxread = Buffer.alloc(0), zxing } = await readByOthers(picture);
    expect(zxing).toEqual(dmtxread);
    const code = partsOf(dmtxread);
    expect([code.zone.equals(foreignZone), opensslVerifies(code, publicKeyOf(keyOf('other').certificate))]).toEqual([true, true]);
    const drawn = async (value: string): Promise<boolean> =>
      pictureIn(await imageOf('other', { signedCode: base64(dmtxread) }, { imageFormat, textOptions: { value } })).equals(picture);
    expect([await drawn('2D-Doc'), await drawn('2D-DOC')]).toEqual([true, false]);
  });

  it('goes by the text and its position', async () => {
    const options = { outputMode: 'IMAGE', text: 'Vérifiez-moi', textPosition: 'LEFT' } as const;
    const picture = evidenceOf(succeeds(await as('other', zoneDocuments(foreignZone), options)));
    const { dmtxread = Buffer.alloc(0) } = await readByOthers(picture);
    const textOptions = { value: options.text, position: options.textPosition };
    expect(pictureIn(await imageOf('other', { signedCode: base64(dmtxread) }, { textOptions })).equals(picture)).toBe(true);
  });

  it('signs several zones each on its own, in their order', async () => {
    const sources = [openSourceOf('A0'), openSourceOf('B0', '02'), openSourceOf('01', '03')];
    const zones = [ownZone, ...(await Promise.all(sources.map(async (source) => zoneOf('app', source)))), ownZone];
    const answer = succeeds(await asIdentity(zoneDocuments(...zones), { checkDigitalIdentity: true }));
    expect(answer.body['evidenceObject']).toEqual(answer.body['evidenceObjects']?.['0']);
    for (const [index, signed] of zones.entries()) {
      const code = partsOf(evidenceOf(answer, index));
      expect([code.zone.equals(signed), opensslVerifies(code, identityPublicKey)]).toEqual([true, true]);
      expect(documentOf(answer, index)).toMatchObject({ ID: `d${index}`, fileName: `zone${index}.txt.2ddoc` });
    }
  });
});

describe('checkDigitalIdentity', () => {
  const checked = { checkDigitalIdentity: true };

  it('true lets the identity sign its own header alone', async () => {
    succeeds(await asIdentity(zoneDocuments(ownZone), checked));
    expectRefusal(await asIdentity(zoneDocuments(ownZone, foreignZone), checked), '2/261', /^\/inputDocuments\/1: .*FR98/);
    const otherCertificate = Buffer.from(ownZone.toString('latin1').replace('FR000001', 'FR000002'), 'latin1');
    expectRefusal(await asIdentity(zoneDocuments(otherCertificate), checked), '2/261', /0002/);
    expectRefusal(await asIdentity(zoneDocuments(zone), checked), '2/261', /signature date is 2012-11-12, .* valid only from/);
    const otherType = Buffer.from(
      zoneOfType('03').toString('latin1').replace(zone.toString('latin1').slice(16, 20), dateIn(ownZone)),
      'latin1',
    );
    expectRefusal(await asIdentity(zoneDocuments(otherType), checked), '2/261', /type 03/);
    // None of them is refused without it.
    for (const options of [{ checkDigitalIdentity: false }, undefined])
      succeeds(await asIdentity(zoneDocuments(foreignZone, otherCertificate, zone, otherType), options));
  });

  it('true refuses a key that is no identity', async () => {
    for (const client of ['other', 'p384'] as const)
      expectRefusal(await as(client, zoneDocuments(foreignZone), checked), '2/261', /^\/keyReference\/reference: .*identity/);
  });

  const dateIn = (bytes: Buffer): string => bytes.toString('latin1').slice(16, 20);
});

describe('sign refuses', () => {
  const withKey = async (client: ClientName, keyReference: object, parameters: object): Promise<ApiAnswer> =>
    call(client, 'signature/sign', { keyReference, parameters, inputDocuments: zoneDocuments(ownZone) });

  it('a zone for an RSA key', async () => {
    expectRefusal(await as('app', zoneDocuments(ownZone)), '1/103', /RSA-2048.*P-256, P-384 or P-521/);
    // Before it reads documents.
    expectRefusal(await as('app', zoneDocuments(Buffer.from('Bonjour'))), '1/103');
  });

  it('anything but zones for the key of an identity', async () => {
    const XP7Signature = { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } };
    for (const parameters of [{ rawSignature: {} }, { XP7Signature }, { envelopedXAdESSignature: {} }])
      expectRefusal(await withKey('app', identityKey, parameters), '1/104', /code2DDocSignature/);
  });

  it('the key of an identity without its password, and for another tenant', async () => {
    const { reference } = identityKey;
    expectRefusal(await withKey('app', { reference }, codeSignature()), '1/101', /^\/keyReference\/password: /);
    expectRefusal(await withKey('app', { ...identityKey, authToken: 'x' }, codeSignature()), '1/103');
    expectRefusal(await withKey('other', identityKey, codeSignature()), '2/201');
  });

  it.each<[string, string, object, RegExp]>([
    ['1/102', 'an unknown output', { outputMode: 'PDF' }, /outputMode: /],
    ['1/102', 'an unknown format', { outputMode: 'IMAGE', imageFormat: 'GIF' }, /imageFormat: /],
    ['1/102', 'an unknown position', { textPosition: 'MIDDLE' }, /textPosition: /],
    ['1/102', 'a check that is no boolean', { checkDigitalIdentity: 'true' }, /checkDigitalIdentity: /],
    ['1/102', 'an unknown member', { position: 'TOP' }, /position/],
    ['1/102', 'a text that is too long', { outputMode: 'IMAGE', text: 'A'.repeat(65) }, /code2DDocParameters\/text: /],
    ['1/102', 'a text that cannot be drawn', { outputMode: 'IMAGE', text: '\u{13000}' }, /code2DDocParameters\/text: /],
  ])('with %s %s', async (code, _what, options, message) => {
    expectRefusal(await asIdentity(zoneDocuments(ownZone), options), code, message);
  });

  it('code2DDocSignature beside another member', async () => {
    expectRefusal(await withKey('app', identityKey, { ...codeSignature(), rawSignature: {} }), '1/103');
  });
});

describe('a repeated request of sign', () => {
  it('is answered with the same code, and 422 with another body', async () => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const body = { keyReference: identityKey, parameters: codeSignature(), inputDocuments: zoneDocuments(ownZone) };
    const first = succeeds(await call('app', 'signature/sign', body, headers));
    expect((await call('app', 'signature/sign', body, headers)).text).toBe(first.text);
    expect((await call('app', 'signature/sign', { ...body, parameters: codeSignature({}) }, headers)).status).toBe(422);
  });
});
