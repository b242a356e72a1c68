import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  call,
  certificateRequest,
  codeOf,
  contentDocument,
  description,
  evidenceOf,
  messageOf,
  newKey,
  root,
  secretOf,
  textOf,
  type ApiAnswer,
  type ClientName,
  type TestKey,
} from '../support/api.ts';
import { idOf, upload } from '../support/files.ts';
import { fetchedFile } from '../support/fetched-file.ts';
import { filesOf, zipEntries, type ZipEntry } from '../support/zip-entries.ts';
import { succeeds } from '../support/succeeds.ts';
import { xmlsecVerdict } from '../support/xmlsec.ts';

const keys: Partial<Record<ClientName, TestKey>> = {};
beforeAll(async () => {
  for (const client of ['app', 'other'] as const) keys[client] = await newKey(client);
});

const detached = (own: object = {}, more: object = {}): object => ({
  XP7Signature: { XP7Format: 'DXXP_7', XP7Providers: { DXXP7Parameters: own }, ...more },
});
const zip = { signatureContainerType: 'ZIP' };
const asic = { ...zip, zipSignatureFileName: 'META-INF/signatures.xml' };
const sign = async (
  parameters: object,
  inputDocuments: readonly object[],
  { client = 'other', ...more }: { client?: ClientName; optionalInputs?: object; keyReference?: object } = {},
): Promise<ApiAnswer> => {
  const key = keys[client];
  if (key === undefined) throw new Error(`no key of ${client}`);
  return call(client, 'signature/sign', { keyReference: secretOf(key), parameters, inputDocuments, ...more });
};
const verdict = (signature: Buffer | undefined, files: Readonly<Record<string, Buffer>>): string =>
  xmlsecVerdict(signature ?? '', { root: readFileSync(root), files });
/** The verdict of a container whose last entry is the signature. */
const containerVerdict = (entries: readonly ZipEntry[]): string => verdict(entries.at(-1)?.content, filesOf(entries));
const note = { ...contentDocument('Signed in Paris.', '1'), fileName: 'note é (1) 100%.txt', mimeType: 'text/plain' };
const xml = { ...contentDocument('<a  b="1"/>', '2'), fileName: 'data.xml' };
const files = { 'note é (1) 100%.txt': Buffer.from('Signed in Paris.'), 'data.xml': Buffer.from('<a  b="1"/>') };

describe('a detached signature', () => {
  it.each([
    ['app', {}, {}],
    ['other', {}, {}],
    ['app', {}, { RSAVersion: 'PKCS_1_1_5', digestAlgorithm: 'SHA_512' }],
    ['other', { xadesVersion: 'VERSION_1_1_1' }, {}],
    ['other', { xadesVersion: 'VERSION_1_2_2' }, { timeStamp: {} }],
    ['other', { manifestActivated: true }, {}],
    ['other', { signedPropertiesC14NAlgURI: 'REC_XML_C_14_N_20010315', signedInfoC14NAlgURI: 'XML_C_14_N_11_WITH_COMMENTS' }, {}],
    ['other', { xadesPrefix: 'etsi' }, { timeStamp: {}, longTermValidation: {} }],
    ['other', {}, { timeStamp: {}, longTermValidation: { archiveTimeStamp: true } }],
    ['other', { manifestActivated: true }, { timeStamp: {}, longTermValidation: { archiveTimeStamp: true } }],
    ['other', { signedContentsC14NAlgURI: 'XML_EXC_C_14_N' }, { timeStamp: {}, longTermValidation: { archiveTimeStamp: true } }],
  ] as const)('of %s with %o %o is one over all documents, which xmlsec1 accepts', async (client, own, more) => {
    const answer = succeeds(await sign(detached(own, more), [note, xml], { client }));
    expect(answer.body['evidenceObjects']).toHaveLength(1);
    expect(answer.body['evidenceObject']?.['document']).toMatchObject({
      ID: '1',
      fileName: 'note é (1) 100%.txt.xml',
      mimeType: 'application/xml',
    });
    expect(verdict(evidenceOf(answer), files)).toBe('OK');
    for (const name of Object.keys(files)) {
      const accepted = verdict(evidenceOf(answer), { ...files, [name]: Buffer.from('<changed/>') }) === 'OK';
      expect(accepted).toBe('manifestActivated' in own);
    }
  });

  it('names documents by their file names, or by their IDs, which may be paths', async () => {
    const documents = [contentDocument('one', 'a/b.txt'), contentDocument('two', 'no:1')];
    const text = evidenceOf(succeeds(await sign(detached(), documents))).toString();
    expect([...text.matchAll(/<ds:Reference [^>]*URI="([^"#]+)"/g)].map(([, uri]) => uri)).toEqual(['a/b.txt', 'no%3A1']);
  });

  it('with signedContentsC14NAlgURI signs the canonical form of what is XML, and the bytes of all else', async () => {
    const other = { ...files, 'data.xml': Buffer.from(`<?xml version='1.0'?>\n<a\tb='1'></a>`) };
    for (const [own, isAccepted] of [
      [{}, false],
      [{ signedContentsC14NAlgURI: 'REC_XML_C_14_N_20010315' }, true],
    ] as const) {
      const evidence = evidenceOf(succeeds(await sign(detached(own), [note, xml])));
      expect(verdict(evidence, files)).toBe('OK');
      expect(verdict(evidence, other) === 'OK').toBe(isAccepted);
    }
  });

  it('is text, and can be delivered as text; a container cannot', async () => {
    const optionalInputs = { evidenceOutput: { outputMode: 'PLAIN' } };
    const answer = succeeds(await sign(detached(), [note, xml], { optionalInputs }));
    expect(verdict(Buffer.from(textOf(answer.body['evidenceObject']?.['document']?.['plainData']?.['plainValue'])), files)).toBe('OK');
    const refused = await sign(detached(zip), [note], { optionalInputs });
    expect([codeOf(refused), messageOf(refused)]).toEqual([
      '1/104',
      expect.stringContaining('/optionalInputs/evidenceOutput/outputMode: '),
    ]);
  });

  it('ignores the fields of a container without one', async () => {
    const own = { signatureContainerType: 'NONE', zipDirectoryActivated: true, zipSignatureFileName: '../x', zipCompressionLevel: 3 };
    expect(verdict(evidenceOf(succeeds(await sign(detached(own), [note, xml]))), files)).toBe('OK');
  });

  it('is for documents that the key is bound to, all of them, by the digests of their bytes', async () => {
    const bound = (id: string, content: Buffer): object => ({
      id,
      digestAlgOID: '2.16.840.1.101.3.4.2.1',
      digestValue: createHash('sha256').update(content).digest('base64'),
    });
    const keyOfDocuments = async (...digest: readonly object[]): Promise<object> => {
      const { body } = await call('other', 'pki/createCertificate', { ...certificateRequest(), signerData: { digest } });
      return body['keyReference'] as object;
    };
    const both = await keyOfDocuments(bound('1', files['note é (1) 100%.txt']), bound('2', files['data.xml']));
    const one = await keyOfDocuments(bound('1', files['note é (1) 100%.txt']));
    for (const own of [{}, zip, { signedContentsC14NAlgURI: 'XML_EXC_C_14_N' }, { manifestActivated: true }]) {
      expect(codeOf(await sign(detached(own), [note, xml], { keyReference: both }))).toBe('0/0');
      expect(codeOf(await sign(detached(own), [note, xml], { keyReference: one }))).toBe('2/205');
      const respelt = { ...xml, ...contentDocument('<a b="1"/>', '2') };
      expect(codeOf(await sign(detached(own), [note, respelt], { keyReference: both }))).toBe('2/205');
    }
  });
});

describe('a container', () => {
  it('has the documents and then the signature, stored unless compression is wanted', async () => {
    const long = { ...contentDocument('long '.repeat(10_000), '3'), fileName: 'long.txt' };
    for (const zipCompressionLevel of [undefined, 0, 1, 9]) {
      const answer = succeeds(await sign(detached({ ...zip, zipCompressionLevel }), [note, long]));
      expect(answer.body['evidenceObject']?.['document']).toMatchObject({
        ID: '1',
        fileName: 'note é (1) 100%.txt.zip',
        mimeType: 'application/zip',
      });
      const entries = zipEntries(evidenceOf(answer));
      expect(entries.map(({ name }) => name)).toEqual(['note é (1) 100%.txt', 'long.txt', 'signature.xml']);
      expect(entries[1]?.isCompressed).toBe((zipCompressionLevel ?? 0) > 0);
      expect(containerVerdict(entries)).toBe('OK');
    }
  });

  it('has a directory and a name of the signature as they were wanted', async () => {
    const own = { ...zip, zipDirectoryActivated: true, zipDirectoryName: 'a/données', zipSignatureFileName: 'b/proof.xml' };
    const entries = zipEntries(evidenceOf(succeeds(await sign(detached(own), [note]))));
    expect(entries.map(({ name }) => name)).toEqual(['a/données/note é (1) 100%.txt', 'b/proof.xml']);
    expect(containerVerdict(entries)).toBe('OK');
    const inactive = { ...own, zipDirectoryActivated: false };
    const [first] = zipEntries(evidenceOf(succeeds(await sign(detached(inactive), [note]))));
    expect(first?.name).toBe('note é (1) 100%.txt');
  });

  it('has names from a template', async () => {
    const own = { ...zip, signedDataTemplateActivated: true, signedDataTemplate: 'data/${date}%20${GUID}/${file_name}' };
    const entries = zipEntries(evidenceOf(succeeds(await sign(detached(own), [note, { ...note, ID: '2' }]))));
    expect(entries).toHaveLength(3);
    for (const { name } of entries.slice(0, 2))
      expect(name).toMatch(/^data\/\d{8}T\d{6}Z [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\/note é \(1\) 100%\.txt$/);
    expect(containerVerdict(entries)).toBe('OK');
    const unused = { ...own, signedDataTemplateActivated: false };
    const [first] = zipEntries(evidenceOf(succeeds(await sign(detached(unused), [note]))));
    expect(first?.name).toBe('note é (1) 100%.txt');
  });

  it('in META-INF is ASiC-E: mimetype first and stored, a manifest, and the root element of the standard', async () => {
    for (const more of [{}, { timeStamp: {}, longTermValidation: { archiveTimeStamp: true } }]) {
      for (const own of [{ zipCompressionLevel: 9 }, { manifestActivated: true }]) {
        const answer = succeeds(await sign(detached({ ...asic, ...own }, more), [note, xml]));
        expect(answer.body['evidenceObject']?.['document']).toMatchObject({
          fileName: 'note é (1) 100%.txt.asice',
          mimeType: 'application/vnd.etsi.asic-e+zip',
        });
        const container = evidenceOf(answer);
        const entries = zipEntries(container);
        expect(entries.map(({ name }) => name)).toEqual([
          'mimetype',
          'note é (1) 100%.txt',
          'data.xml',
          'META-INF/manifest.xml',
          'META-INF/signatures.xml',
        ]);
        // EN 319 162-1 A.1: name and content of the first entry at fixed offsets.
        expect(container.toString('latin1', 30, 69)).toBe('mimetypeapplication/vnd.etsi.asic-e+zip');
        expect(entries[3]?.content.toString()).toContain('manifest:full-path="note &#xE9; (1) 100%.txt" manifest:media-type="text/plain"');
        expect(entries[4]?.content.toString()).toContain('<asic:XAdESSignatures ');
        // References are relative to the root of the container.
        expect(containerVerdict(entries)).toBe('OK');
      }
    }
  });

  it('takes its documents from every source, and is delivered everywhere', async () => {
    const content = randomBytes(2_000_000);
    const filePath = join(description.readDirectory ?? '', `${randomUUID()}.bin`);
    const outputDirectory = join(description.writeDirectory ?? '', randomUUID());
    writeFileSync(filePath, content);
    mkdirSync(outputDirectory);
    const documents = [
      { ID: 'text', plainData: { plainValue: 'Signé' } },
      contentDocument(content, 'base64'),
      { ID: 'path', filePathData: { filePath } },
      { ID: 'store', FTMData: { fileID: idOf(await upload('other', content)), fileSize: content.length } },
    ];
    for (const own of [{}, { zipCompressionLevel: 6 }]) {
      for (const outputMode of ['BASE_64', 'FILE_PATH', 'FTM']) {
        const evidenceOutput = { outputMode, ...(outputMode === 'FILE_PATH' ? { outputDirectory } : {}) };
        const answer = succeeds(await sign(detached({ ...zip, ...own }), documents, { optionalInputs: { evidenceOutput } }));
        const document = answer.body['evidenceObject']?.['document'];
        const container =
          outputMode === 'BASE_64'
            ? evidenceOf(answer)
            : outputMode === 'FTM'
              ? await fetchedFile('other', textOf(document?.['FTMData']?.['fileID']))
              : readFileSync(textOf(document?.['filePathData']?.['filePath']));
        const entries = zipEntries(container);
        expect(entries.slice(1, 4).every((entry) => entry.content.equals(content))).toBe(true);
        expect(containerVerdict(entries)).toBe('OK');
      }
    }
    expect(readdirSync(outputDirectory).toSorted()).toEqual(['text (1).zip', 'text.zip']);
  });
});
