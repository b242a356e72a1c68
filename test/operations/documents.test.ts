import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  call,
  codeOf,
  description,
  evidenceOf,
  messageOf,
  newKey,
  root,
  secretOf,
  textOf,
  type ApiAnswer,
  type TestKey,
} from '../support/api.ts';
import { file, idOf, upload } from '../support/files.ts';
import { openssl } from '../support/openssl.ts';

let key: TestKey;
/** Directories of this test alone. */
const readable = join(description.readDirectory ?? '', randomUUID());
const writable = join(description.writeDirectory ?? '', randomUUID());
const big = randomBytes(3_000_000);

beforeAll(async () => {
  key = await newKey('app');
  for (const directory of [readable, writable]) mkdirSync(directory);
  writeFileSync(join(readable, 'small.txt'), 'Signé à Paris.');
  writeFileSync(join(readable, 'big.bin'), big);
});

const cades = (detached: boolean): object => ({
  XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached } } },
});
const pathDocument = (name: string, ID = 'd', more: object = {}): object => ({
  ID,
  filePathData: { filePath: join(readable, name) },
  ...more,
});
const outputTo = (outputMode: string, outputDirectory?: string): object => ({
  optionalInputs: { evidenceOutput: { outputMode, ...(outputDirectory === undefined ? {} : { outputDirectory }) } },
});
const sign = async (inputDocuments: readonly object[], more: object = {}, headers: Record<string, string> = {}): Promise<ApiAnswer> =>
  call('app', 'signature/sign', { keyReference: secretOf(key), parameters: cades(true), inputDocuments, ...more }, headers);
const documentOf = ({ body }: ApiAnswer, index = 0) => body['evidenceObjects']?.[index]?.['document'];
const verifies = (signature: Buffer, content: Buffer | undefined): void => {
  const files = { sig: signature, root: readFileSync(root), ...(content === undefined ? {} : { content }) };
  const detached = content === undefined ? [] : ['-content', '{content}'];
  openssl(
    [
      'cms',
      '-verify',
      '-binary',
      '-inform',
      'DER',
      '-in',
      '{sig}',
      ...detached,
      '-CAfile',
      '{root}',
      '-purpose',
      'any',
      '-out',
      '/dev/null',
    ],
    files,
  );
};

describe('documents in a request', () => {
  it('come from a path, small and large, inside the signature or detached', async () => {
    for (const [name, content] of [
      ['small.txt', readFileSync(join(readable, 'small.txt'))],
      ['big.bin', big],
    ] as const) {
      verifies(evidenceOf(await sign([pathDocument(name)])), content);
      verifies(evidenceOf(await sign([pathDocument(name)], { parameters: cades(false) })), undefined);
    }
  });

  it('come from the transfer store, all kinds in one request', async () => {
    const stored = await upload('app', big);
    const answer = await sign([
      { ID: 'a', FTMData: { fileID: idOf(stored), fileSize: big.length } },
      pathDocument('big.bin', 'b'),
      { ID: 'c', base64Data: { base64Value: big.toString('base64') } },
      { ID: 'd', plainData: { plainValue: 'Signé à Paris.' } },
    ]);
    expect(codeOf(answer)).toBe('0/0');
    for (const index of [0, 1, 2]) verifies(evidenceOf(answer, index), big);
    verifies(evidenceOf(answer, 3), Buffer.from('Signé à Paris.'));
  });

  it('are signed raw from a path and the transfer store', async () => {
    const stored = await upload('app', big);
    const answer = await sign([pathDocument('big.bin', 'a'), { ID: 'b', FTMData: { fileID: idOf(stored), fileSize: big.length } }], {
      parameters: { rawSignature: {} },
    });
    expect(codeOf(answer)).toBe('0/0');
    expect(evidenceOf(answer, 0).equals(evidenceOf(answer, 1))).toBe(true);
  });

  it('are covered by a key that is bound to their digests, or not', async () => {
    const digestValue = execFileSync(
      'sh',
      ['-c', 'openssl dgst -sha256 -binary "$1" | openssl base64 -A', 'sh', join(readable, 'big.bin')],
      { encoding: 'utf8' },
    );
    const created = await call('app', 'pki/createCertificate', {
      certificationRequestInfo: {
        signatureActivationProtocol: 'PASSWORD',
        PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Bound' } },
      },
      certificateFormat: 'CERTIFICATE',
      signerData: { digest: [{ id: 'd', digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue }] },
    });
    const keyReference = {
      reference: textOf(created.body['keyReference']?.['reference']),
      password: textOf(created.body['keyReference']?.['password']),
    };
    expect(codeOf(await sign([pathDocument('big.bin')], { keyReference }))).toBe('0/0');
    expect(codeOf(await sign([pathDocument('small.txt')], { keyReference }))).toBe('2/205');
  });

  it.each<[string, () => object | Promise<object>, string, string]>([
    ['a path outside', () => ({ filePathData: { filePath: '/etc/hostname' } }), '2/241', '/inputDocuments/0/filePathData/filePath: '],
    [
      'a path outside and missing',
      () => ({ filePathData: { filePath: '/etc/missing' } }),
      '2/241',
      '/inputDocuments/0/filePathData/filePath: ',
    ],
    ['a relative path', () => ({ filePathData: { filePath: 'small.txt' } }), '2/241', '/inputDocuments/0/filePathData/filePath: '],
    [
      'a path with NUL',
      () => ({ filePathData: { filePath: `${readable}/small.txt\0` } }),
      '2/241',
      '/inputDocuments/0/filePathData/filePath: ',
    ],
    [
      'a path up and out',
      () => ({ filePathData: { filePath: `${readable}/../../write` } }),
      '2/241',
      '/inputDocuments/0/filePathData/filePath: ',
    ],
    [
      'the write directory',
      () => ({ filePathData: { filePath: join(writable, 'x') } }),
      '2/241',
      '/inputDocuments/0/filePathData/filePath: ',
    ],
    [
      'a missing file',
      () => ({ filePathData: { filePath: join(readable, 'missing') } }),
      '2/242',
      '/inputDocuments/0/filePathData/filePath: ',
    ],
    ['an unknown fileID', () => ({ FTMData: { fileID: 'x', fileSize: 1 } }), '2/242', '/inputDocuments/0/FTMData/fileID: '],
    [
      "another tenant's file",
      async () => ({ FTMData: { fileID: idOf(await upload('other', 'x')), fileSize: 1 } }),
      '2/242',
      '/inputDocuments/0/FTMData/fileID: ',
    ],
    [
      'a wrong fileSize',
      async () => ({ FTMData: { fileID: idOf(await upload('app', 'xy')), fileSize: 1 } }),
      '1/103',
      '/inputDocuments/0/FTMData/fileSize: ',
    ],
    ['two variants', () => ({ filePathData: { filePath: '/x' }, plainData: { plainValue: 'x' } }), '1/103', '/inputDocuments/0: '],
    ['a fileSize that is no integer', () => ({ FTMData: { fileID: 'x', fileSize: 1.5 } }), '1/102', '/inputDocuments/0/FTMData/fileSize: '],
    ['no fileSize', () => ({ FTMData: { fileID: 'x' } }), '1/101', '/inputDocuments/0/FTMData/fileSize: '],
    ['no filePath', () => ({ filePathData: {} }), '1/101', '/inputDocuments/0/filePathData/filePath: '],
  ])('are refused: %s', async (_what, variant, code, at) => {
    const answer = await sign([{ ID: 'd', ...(await variant()) }]);
    expect([codeOf(answer), messageOf(answer).slice(0, at.length)]).toEqual([code, at]);
  });

  it('are refused by links and hard links that lead out, FIFOs and directories', async () => {
    symlinkSync('/etc/hostname', join(readable, 'out'));
    symlinkSync(join(readable, 'small.txt'), join(readable, 'in'));
    linkSync(join(readable, '..', '..', 'signetd.yaml'), join(readable, 'hard'));
    execFileSync('mkfifo', [join(readable, 'fifo')]);
    for (const name of ['out', 'hard', 'fifo', '.']) expect(codeOf(await sign([pathDocument(name)])), name).toBe('2/241');
    expect(codeOf(await sign([pathDocument('in')]))).toBe('0/0');
  });

  it('are checked after the key and before its secret', async () => {
    const unknown = { keyReference: { reference: '0'.repeat(40), password: 'x' } };
    expect(codeOf(await sign([pathDocument('missing')], unknown))).toBe('2/201');
    const wrong = { keyReference: { reference: key.reference, password: 'wrong' } };
    expect(codeOf(await sign([pathDocument('missing')], wrong))).toBe('2/242');
    expect(codeOf(await sign([pathDocument('small.txt')], { ...wrong, ...outputTo('FILE_PATH', '/etc') }))).toBe('2/241');
    expect(codeOf(await call('app', 'pki/checkKey', { keyReference: secretOf(key) }))).toBe('0/0');
  });
});

describe('evidence', () => {
  it('goes into a directory, under the name of the document with its ending, or a number', async () => {
    const documents = [
      pathDocument('small.txt', 'a', { fileName: 'contract.txt' }),
      pathDocument('small.txt', 'b/c'),
      pathDocument('small.txt', 'b'),
    ];
    const first = await sign(documents, outputTo('FILE_PATH', `${writable}/`));
    expect(codeOf(first)).toBe('0/0');
    expect([0, 1, 2].map((index) => documentOf(first, index))).toEqual(
      ['contract.txt.p7s', 'document.p7s', 'b.p7s'].map((fileName, index) => ({
        ID: ['a', 'b/c', 'b'][index],
        fileName,
        mimeType: 'application/pkcs7-signature',
        filePathData: { filePath: join(writable, fileName) },
      })),
    );
    const second = await sign(documents.slice(0, 1), outputTo('FILE_PATH', writable));
    expect(documentOf(second)?.['filePathData']).toEqual({ filePath: join(writable, 'contract.txt (1).p7s') });
    verifies(readFileSync(join(writable, 'contract.txt (1).p7s')), readFileSync(join(readable, 'small.txt')));
    expect(statSync(join(writable, 'contract.txt.p7s')).mode & 0o777).toBe(0o640);
  });

  it('goes into the transfer store, with type and name', async () => {
    const answer = await sign([pathDocument('big.bin', 'a', { fileName: 'big.bin' })], { parameters: cades(false), ...outputTo('FTM') });
    const { fileID, fileSize } = documentOf(answer)?.['FTMData'] ?? {};
    expect(Number(fileSize)).toBeGreaterThan(big.length);
    const got = await file('app', 'GET', textOf(fileID));
    expect(got.headers).toMatchObject({
      'content-type': 'application/pkcs7-mime',
      'x-file-name': 'big.bin.p7m',
      'content-length': textOf(fileSize),
    });
  });

  it('20 requests for one name give 20 files', async () => {
    const directory = join(writable, 'many');
    mkdirSync(directory);
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => sign([pathDocument('small.txt', 'a', { fileName: 'x' })], outputTo('FILE_PATH', directory))),
    );
    expect(answers.map(codeOf)).toEqual(Array.from({ length: 20 }, () => '0/0'));
    expect(readdirSync(directory)).toHaveLength(20);
    expect(new Set(answers.map((answer) => textOf(documentOf(answer)?.['filePathData']?.['filePath']))).size).toBe(20);
  });

  it.each([
    ['FILE_PATH without a directory', outputTo('FILE_PATH'), '1/103'],
    ['a directory without FILE_PATH', outputTo('FTM', writable), '1/103'],
    ['PLAIN, since it is no text', outputTo('PLAIN'), '1/104'],
    ['a directory outside', outputTo('FILE_PATH', '/tmp'), '2/241'],
    ['the read directory', outputTo('FILE_PATH', readable), '2/241'],
    ['a relative directory', outputTo('FILE_PATH', 'write'), '2/241'],
    ['a missing directory', outputTo('FILE_PATH', join(writable, 'missing')), '2/242'],
    ['an unknown mode', outputTo('MAIL'), '1/102'],
  ])('is refused: %s', async (_what, more, code) => {
    expect(codeOf(await sign([pathDocument('small.txt')], more))).toBe(code);
  });

  it('does not exist after a failed request', async () => {
    const directory = join(writable, 'failed');
    mkdirSync(directory);
    const wrong = { keyReference: { reference: key.reference, password: 'wrong' } };
    expect(codeOf(await sign([pathDocument('small.txt')], { ...wrong, ...outputTo('FILE_PATH', directory) }))).toBe('2/202');
    expect(readdirSync(directory)).toEqual([]);
    await call('app', 'pki/checkKey', { keyReference: secretOf(key) });
  });

  it('is there once for a request that is repeated with its Idempotency-Key, which names the same file', async () => {
    const directory = join(writable, 'repeated');
    mkdirSync(directory);
    const headers = { 'Idempotency-Key': randomUUID() };
    const answers = [];
    for (let time = 0; time < 2; time += 1) {
      answers.push(await sign([pathDocument('small.txt', 'a', { fileName: 'x' })], outputTo('FILE_PATH', directory), headers));
    }
    expect(answers.map((answer) => documentOf(answer)?.['filePathData'])).toEqual(
      Array.from({ length: 2 }, () => ({ filePath: join(directory, 'x.p7s') })),
    );
    expect(readdirSync(directory)).toEqual(['x.p7s']);
  });
});
