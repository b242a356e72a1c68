import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { description, evidenceOf, newKey, secretOf, textOf, type ApiAnswer, type TestKey } from '../../support/api.ts';
import { file, idOf, upload } from '../../support/files.ts';
import { succeeds } from '../../support/succeeds.ts';
import { tiffRows } from '../../support/symbol-readers.ts';
import { opensslVerifies, partsOf, publicKeyOf } from '../../support/two-d-doc-codes.ts';
import { madeSourceOf, madeZone } from '../../support/two-d-doc-sources.ts';
import { expectRefusal, identity, identityKey, openSourceOf, signZones, zoneDocuments, zoneOf, type CodeOptions } from './calls.ts';

const identityPublicKey = publicKeyOf(readFileSync(identity.certificate, 'utf8'));
const zone = Buffer.from(madeZone(madeSourceOf('01')), 'latin1');
/** What the identity may sign. */
let ownZone: Buffer;
/** Of P-256. */
let key: TestKey;

beforeAll(async () => {
  ownZone = await zoneOf('app', openSourceOf('01'));
  key = await newKey('other');
});

const asIdentity = async (documents: readonly object[], options?: CodeOptions, more: object = {}): Promise<ApiAnswer> =>
  signZones('app', identityKey, documents, options, more);
const asOther = async (documents: readonly object[], options?: CodeOptions): Promise<ApiAnswer> =>
  signZones('other', secretOf(key), documents, options);
const documentOf = ({ body }: ApiAnswer, index = 0): unknown => body['evidenceObjects']?.[index]?.['document'];

describe('documents of code2DDocSignature', () => {
  const readable = join(description.readDirectory ?? '', randomUUID());
  const writable = join(description.writeDirectory ?? '', randomUUID());
  const output = (outputMode: string, more: object = {}): object => ({ optionalInputs: { evidenceOutput: { outputMode, ...more } } });

  beforeAll(() => {
    for (const directory of [readable, writable]) mkdirSync(directory);
    writeFileSync(join(readable, 'zone'), ownZone);
  });

  it('come as text, from a path and from the transfer store', async () => {
    const stored = await upload('app', ownZone);
    const answer = succeeds(
      await asIdentity(
        [
          { ID: 'a', plainData: { plainValue: ownZone.toString('latin1') } },
          { ID: 'b', filePathData: { filePath: join(readable, 'zone') } },
          { ID: 'c', FTMData: { fileID: idOf(stored), fileSize: ownZone.length } },
        ],
        { checkDigitalIdentity: true },
      ),
    );
    for (const index of [0, 1, 2]) {
      const code = partsOf(evidenceOf(answer, index));
      expect([code.zone.equals(ownZone), opensslVerifies(code, identityPublicKey)]).toEqual([true, true]);
    }
  });

  it('are answered as text, at a path and in the transfer store', async () => {
    const isSigned = (code: Buffer): void => {
      const parts = partsOf(code);
      expect([parts.zone.equals(ownZone), opensslVerifies(parts, identityPublicKey)]).toEqual([true, true]);
    };
    const plain = succeeds(await asIdentity(zoneDocuments(ownZone), {}, output('PLAIN')));
    const plainData = (documentOf(plain) as { plainData: { plainValue: string } }).plainData;
    isSigned(Buffer.from(plainData.plainValue));
    const atPath = succeeds(await asIdentity(zoneDocuments(ownZone), {}, output('FILE_PATH', { outputDirectory: writable })));
    const { filePath } = (documentOf(atPath) as { filePathData: { filePath: string } }).filePathData;
    expect(filePath).toBe(join(writable, 'zone0.txt.2ddoc'));
    isSigned(readFileSync(filePath));
    const inStore = succeeds(await asIdentity(zoneDocuments(ownZone), {}, output('FTM')));
    const { fileID, fileSize } = (documentOf(inStore) as { FTMData: { fileID: string; fileSize: number } }).FTMData;
    const fetched = await file('app', 'GET', fileID);
    expect(fetched.status).toBe(200);
    expect(Buffer.from(fetched.text)).toHaveLength(fileSize);
    isSigned(Buffer.from(fetched.text));
  });

  it('leave nothing behind where the request fails: broken zones, the header of somebody else', async () => {
    const before = readdirSync(writable);
    const more = output('FILE_PATH', { outputDirectory: writable });
    const foreignZone = Buffer.from(ownZone.toString('latin1').replace('FR00', 'FR98'), 'latin1');
    expectRefusal(await asIdentity(zoneDocuments(ownZone, Buffer.from('DC04')), {}, more), '1/105', /^\/inputDocuments\/1: /);
    expectRefusal(await asIdentity(zoneDocuments(ownZone, foreignZone), { checkDigitalIdentity: true }, more), '2/261');
    expect(readdirSync(writable)).toEqual(before);
  });

  it('as pictures are files, and no text', async () => {
    const options = { outputMode: 'IMAGE', imageFormat: 'TIFF' } as const;
    const answer = succeeds(await asIdentity(zoneDocuments(ownZone), options, output('FILE_PATH', { outputDirectory: writable })));
    const { filePath } = (documentOf(answer) as { filePathData: { filePath: string } }).filePathData;
    expect(tiffRows(readFileSync(filePath)).width).toBeGreaterThan(100);
    expectRefusal(await asIdentity(zoneDocuments(ownZone), options, output('PLAIN')), '1/104', /not text/);
    const xml = succeeds(await asIdentity(zoneDocuments(ownZone), { outputMode: 'XML' }, output('PLAIN')));
    expect(textOf((documentOf(xml) as { plainData: { plainValue: string } }).plainData.plainValue)).toContain('<signed2DDoc ');
  });

  it.each([
    ['no zone', 'Bonjour'],
    ['no bytes', ''],
    ['version 01', 'DC01FR000001125E125B0126FR24750012212 RUE DU MOULIN\u001d10A'],
    ['a code', `${zone.toString('latin1')}\u001f${'A'.repeat(103)}`],
    ['a mandatory field missing', zone.toString('latin1').replace('26FR', '')],
    ['a field twice', `${zone.toString('latin1')}\u001d26FR`],
    ['a type that does not exist', zone.toString('latin1').replace('0101FR', 'ZZ01FR')],
    ['too many bytes', `${zone.toString('latin1')}${'A'.repeat(100_000)}`],
  ])('that are no zone are refused with 1/105: %s', async (_what, text) => {
    for (const outputMode of ['SIGNED_CODE', 'XML', 'IMAGE'] as const)
      expectRefusal(await asOther(zoneDocuments(zone, Buffer.from(text, 'latin1')), { outputMode }), '1/105', /^\/inputDocuments\/1: /);
  });

  it('that fit into no symbol are refused as a picture alone', async () => {
    const made = madeSourceOf('08');
    const fields = [
      { id: '6F', written: '', zone: 'A' },
      { id: '01', written: '', zone: 'A'.repeat(2400) },
    ];
    const large = Buffer.from(madeZone({ ...made, fields }), 'latin1');
    expectRefusal(await asOther(zoneDocuments(large), { outputMode: 'IMAGE' }), '1/105', /^\/inputDocuments\/0: .*symbol/);
    succeeds(await asOther(zoneDocuments(large)));
  });

  it('are no digests', async () => {
    const digest = { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: Buffer.alloc(32).toString('base64') };
    expectRefusal(await asIdentity([{ ID: 'd', digest }]), '1/103', /^\/inputDocuments\/0/);
    expectRefusal(await asOther([{ ID: 'd', digest }]), '1/103', /^\/inputDocuments\/0/);
  });
});
