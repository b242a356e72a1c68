import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  call,
  codeOf,
  contentDocument,
  description,
  evidenceOf,
  messageOf,
  newKey,
  secretOf,
  textOf,
  type ApiAnswer,
  type ClientName,
  type TestKey,
} from '../../support/api.ts';
import { fetchedFile } from '../../support/fetched-file.ts';
import { opensslVerifies, partsOf } from '../../support/signed-codes.ts';
import { readByOthers } from '../../support/symbol-readers.ts';
import { madeSourceOf, madeZone } from '../../support/two-d-doc-sources.ts';
import { typesWithSchema } from '../../support/two-d-doc-tables.ts';

const { twoDDoc: identity } = description;
if (identity === undefined) throw new Error('the quickstart has a digital identity');
const certificate = readFileSync(identity.certificate, 'utf8');
const identityKey = { reference: identity.keyReference, password: identity.password };

const zone = 'DC04FR000001265C26610101FR26FR24750012212 RUE DU MOULIN\u001d10MME/MARTIN/CAMILLE';

async function sign(
  key: object,
  options: object = {},
  { client = 'app', documents = [contentDocument(zone)], more = {} }: { client?: ClientName; documents?: object[]; more?: object } = {},
): Promise<ApiAnswer> {
  const parameters = { code2DDocSignature: { code2DDocParameters: options } };
  return call(client, 'signature/sign', { keyReference: key, parameters, inputDocuments: documents, ...more });
}

const documentOf = ({ body }: ApiAnswer): ApiAnswer['body'] | undefined => body['evidenceObject']?.['document'];

describe('sign with code2DDocSignature', () => {
  it('returns the code of a zone', async () => {
    const answer = await sign(identityKey, { checkDigitalIdentity: true }, { documents: [{ ...contentDocument(zone), fileName: 'a' }] });
    expect([codeOf(answer), messageOf(answer)]).toEqual(['0/0', 'success']);
    expect(documentOf(answer)).toMatchObject({ ID: 'd', fileName: 'a.2ddoc', mimeType: 'text/plain' });
    expect(answer.body['optionalOutputs']?.['signatureAlgorithm']).toBe('1.2.840.10045.4.3.2');
    const parts = partsOf(evidenceOf(answer));
    expect(parts.zone.toString('latin1')).toBe(zone);
    expect(opensslVerifies(parts, certificate)).toBe(true);
  });

  it('returns a document that describes it, valid by its schema', async () => {
    const answer = await sign(identityKey, { outputMode: 'XML' });
    expect(documentOf(answer)).toMatchObject({ mimeType: 'application/xml' });
    const directory = mkdtempSync(join(tmpdir(), 'signed-2ddoc-'));
    const file = join(directory, 'signed.xml');
    writeFileSync(file, evidenceOf(answer));
    const schema = fileURLToPath(new URL('../../../src/twoddoc/schemas/2ddoc-signed.xsd', import.meta.url));
    execFileSync('xmllint', ['--noout', '--nonet', '--schema', schema, file], { stdio: 'pipe' });
    const valueOf = (path: string): string =>
      execFileSync('xmllint', ['--xpath', `string(${path.replaceAll(/(\w+)/g, "*[local-name()='$1']")})`, file], {
        encoding: 'utf8',
      }).trim();
    const signature = Buffer.from(valueOf('//signature'), 'base64');
    const parts = { zone: Buffer.from(valueOf('//dataZone'), 'base64'), signature, annex: undefined };
    expect(parts.zone.toString('latin1')).toBe(zone);
    expect(opensslVerifies(parts, Buffer.from(valueOf('/signed2DDoc/certificate'), 'base64'))).toBe(true);
    rmSync(directory, { recursive: true });
  });

  it.each([
    ['PNG', 'image/png', 'BOTTOM'],
    ['TIFF', 'image/tiff', 'LEFT'],
  ])('returns a picture: %s', async (imageFormat, mimeType, textPosition) => {
    const answer = await sign(identityKey, { outputMode: 'IMAGE', imageFormat, textPosition });
    expect([codeOf(answer), documentOf(answer)?.['mimeType']]).toEqual(['0/0', mimeType]);
    const { dmtxread, zxing } = await readByOthers(evidenceOf(answer));
    expect(dmtxread?.equals(zxing ?? Buffer.alloc(0))).toBe(true);
    expect(opensslVerifies(partsOf(dmtxread ?? Buffer.alloc(0)), certificate)).toBe(true);
  });

  it('delivers it as text, as a file and through the transfer store', async () => {
    const output = (evidenceOutput: object): { more: object } => ({ more: { optionalInputs: { evidenceOutput } } });
    const plain = textOf(documentOf(await sign(identityKey, {}, output({ outputMode: 'PLAIN' })))?.['plainData']?.['plainValue']);
    expect(opensslVerifies(partsOf(Buffer.from(plain, 'latin1')), certificate)).toBe(true);
    const directory = { outputMode: 'FILE_PATH', outputDirectory: description.writeDirectory };
    const path = textOf(documentOf(await sign(identityKey, {}, output(directory)))?.['filePathData']?.['filePath']);
    expect(opensslVerifies(partsOf(readFileSync(path)), certificate)).toBe(true);
    const { fileID } = documentOf(await sign(identityKey, {}, output({ outputMode: 'FTM' })))?.['FTMData'] ?? {};
    expect(opensslVerifies(partsOf(await fetchedFile('app', textOf(fileID))), certificate)).toBe(true);
    const picture = await sign(identityKey, { outputMode: 'IMAGE' }, output({ outputMode: 'PLAIN' }));
    expect([codeOf(picture), messageOf(picture)]).toEqual(['1/104', expect.stringContaining('not text') as string]);
  });

  it('signs several zones, each on its own', async () => {
    const documents = ['A', 'B', 'C'].map((name) => contentDocument(`${zone}${name}`, name));
    const answer = await sign(identityKey, {}, { documents });
    for (const [index, name] of ['A', 'B', 'C'].entries()) {
      const parts = partsOf(evidenceOf(answer, index));
      expect(parts.zone.toString('latin1')).toBe(`${zone}${name}`);
      expect(opensslVerifies(parts, certificate)).toBe(true);
    }
  });
});

describe('keys of callers', () => {
  let p256: TestKey;
  let p384: TestKey;
  let rsa: TestKey;
  beforeAll(async () => {
    [p256, p384, rsa] = await Promise.all([newKey('other'), newKey('p384'), newKey('app')]);
  });

  it('sign whatever header a zone has, with the hash of their curve', async () => {
    const parts = partsOf(evidenceOf(await sign(secretOf(p384), {}, { client: 'p384' })));
    expect([parts.signature.length, opensslVerifies(parts, p384.certificate)]).toEqual([96, true]);
  });

  it('are refused where the header must name them, and without an elliptic curve', async () => {
    const checked = await sign(secretOf(p256), { checkDigitalIdentity: true }, { client: 'other' });
    expect([codeOf(checked), messageOf(checked)]).toEqual(['2/261', expect.stringContaining('not that of a digital identity') as string]);
    const withRsa = await sign(secretOf(rsa));
    expect([codeOf(withRsa), messageOf(withRsa)]).toEqual(['1/103', expect.stringContaining('RSA-2048') as string]);
  });

  it('sign a zone of every type; two readers read each picture', async () => {
    const zones = typesWithSchema.map((type) => madeZone(madeSourceOf(type, { optional: 'none' })));
    expect(zones).toHaveLength(56);
    const documents = zones.map((text, index) => contentDocument(Buffer.from(text, 'latin1'), String(index)));
    for (const [imageFormat, textPosition] of [
      ['PNG', 'RIGHT'],
      ['TIFF', 'TOP'],
    ]) {
      const answer = await sign(secretOf(p256), { outputMode: 'IMAGE', imageFormat, textPosition }, { client: 'other', documents });
      expect(codeOf(answer)).toBe('0/0');
      const read = await Promise.all(zones.map(async (_zone, index) => readByOthers(evidenceOf(answer, index))));
      expect(read.map(({ dmtxread }) => partsOf(dmtxread ?? Buffer.alloc(0)).zone.toString('latin1'))).toEqual(zones);
      expect(read.map(({ zxing }) => partsOf(zxing ?? Buffer.alloc(0)).zone.toString('latin1'))).toEqual(zones);
      expect(read.slice(0, 5).every(({ dmtxread }) => opensslVerifies(partsOf(dmtxread ?? Buffer.alloc(0)), p256.certificate))).toBe(true);
    }
  });
});

describe('sign refuses', () => {
  it('a header that does not name the identity, or a type that it may not sign', async () => {
    const others = [contentDocument(zone.replace('FR000001', 'FR000002'))];
    expect(codeOf(await sign(identityKey, {}, { documents: others }))).toBe('0/0');
    const named = await sign(identityKey, { checkDigitalIdentity: true }, { documents: others });
    expect([codeOf(named), messageOf(named)]).toEqual(['2/261', expect.stringContaining('/inputDocuments/0: the zone names') as string]);
    const type = [contentDocument(madeZone(madeSourceOf('A8')).replace(/^DC04......../, 'DC04FR000001'))];
    expect(codeOf(await sign(identityKey, { checkDigitalIdentity: true }, { documents: type }))).toBe('2/261');
  });

  it.each([
    ['1/105', '/inputDocuments/0', {}, [contentDocument('no zone')]],
    ['1/105', '/inputDocuments/1', {}, [contentDocument(zone), contentDocument(`${zone}\u001d\u001d`, 'e')]],
    ['1/105', 'version 01', {}, [contentDocument(zone.replace('DC04', 'DC01'))]],
    ['1/105', '3116', {}, [contentDocument(zone.padEnd(200_000, 'A'))]],
    ['1/103', '/inputDocuments/0/digest', {}, [{ ID: 'd', digest: { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: 'AAAA' } }]],
    ['1/102', '/outputMode', { outputMode: 'PDF' }, [contentDocument(zone)]],
    ['1/102', '/text', { text: 'x'.repeat(65) }, [contentDocument(zone)]],
  ])('%s at %s', async (code, at, options, documents) => {
    const answer = await sign(identityKey, options, { documents });
    expect([codeOf(answer), messageOf(answer)]).toEqual([code, expect.stringContaining(at) as string]);
  });

  it('a code that is too large for a picture before anything is signed', async () => {
    const large = [contentDocument(`${zone}\u001d01${'A'.repeat(2600)}`)];
    expect(codeOf(await sign(identityKey, {}, { documents: large }))).toBe('0/0');
    const answer = await sign(identityKey, { outputMode: 'IMAGE' }, { documents: large });
    expect([codeOf(answer), messageOf(answer)]).toEqual(['1/105', expect.stringContaining('too large for a symbol') as string]);
  });

  it('another format, no password, a wrong one, and another tenant', async () => {
    const ask = async (parameters: object, key: object = identityKey, client: ClientName = 'app'): Promise<string> =>
      codeOf(await call(client, 'signature/sign', { keyReference: key, parameters, inputDocuments: [contentDocument(zone)] }));
    expect(await ask({ rawSignature: {} })).toBe('1/104');
    expect(await ask({ XP7Signature: { XP7Format: 'PXP_7' } })).toBe('1/104');
    const { reference } = identityKey;
    expect(await ask({ code2DDocSignature: {} }, { reference })).toBe('1/101');
    expect(await ask({ code2DDocSignature: {} }, { reference, authToken: 'x' })).toBe('1/101');
    expect(await ask({ code2DDocSignature: {} }, { reference, password: 'wrong' })).toBe('2/202');
    expect(await ask({ code2DDocSignature: {} })).toBe('0/0');
    expect(await ask({ code2DDocSignature: {} }, identityKey, 'other')).toBe('2/201');
  });
});
