import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  call,
  codeOf,
  contentDocument,
  description,
  evidenceOf,
  messageOf,
  textOf,
  type ApiAnswer,
  type ClientName,
} from '../support/api.ts';
import { fetchedFile } from '../support/fetched-file.ts';
import { file, idOf, upload } from '../support/files.ts';
import { forgedByCubeRoot, rsaPublicKey } from '../support/forged-values.ts';
import { verifiedCades } from '../support/openssl-cms.ts';
import { openssl } from '../support/openssl.ts';
import {
  derOf,
  outsideAuthority,
  outsideKeyTypes,
  rawEcdsa,
  signOutside,
  type OutsideAlgorithm,
  type OutsideAuthority,
  type OutsideKeyType,
  type OutsideSigner,
} from '../support/outside-signer.ts';
import { alternativeNames, pemOf, strangersCertificate } from '../support/strangers-certificates.ts';
import { succeeds } from '../support/succeeds.ts';

const text = Buffer.from('Contrat n° 2 — signé sur un appareil\n');
const pssOid = '1.2.840.113549.1.1.10';
let authority: OutsideAuthority;
const signers = new Map<OutsideKeyType, OutsideSigner>();

beforeAll(() => {
  authority = outsideAuthority();
  for (const type of outsideKeyTypes) signers.set(type, authority.certify(type));
});

const signerOf = (type: OutsideKeyType): OutsideSigner => {
  const signer = signers.get(type);
  if (signer === undefined) throw new Error(`no signer ${type}`);
  return signer;
};
const cades = (detached: boolean, more: object = {}) => ({
  XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached } }, ...more },
});
const raw = (signatureAlgorithmOid?: string) => ({
  rawSignature: signatureAlgorithmOid === undefined ? {} : { rawSignatureParameters: { signatureAlgorithmOid } },
});
/** With the certificate and its chain. */
const certified = (signer: OutsideSigner) => ({
  signerCertificate: derOf(signer.certificate),
  certificateChain: [derOf(authority.issuer), derOf(authority.root)],
});

interface Entry {
  readonly id: string;
  readonly digestAlgOID: string;
  readonly digestValue: string;
  readonly dataToSign?: string;
  readonly signatureAlgorithmOid?: string;
}

interface Prepared {
  readonly signatureThreadId: string;
  readonly digests: readonly Entry[];
}

const preSign = async (body: object, client: ClientName = 'app'): Promise<ApiAnswer> => call(client, 'signature/remotePreSign', body);
const preparedIn = (answer: ApiAnswer): Prepared => {
  succeeds(answer);
  const { signatureThreadId, signerData } = answer.body;
  return { signatureThreadId: textOf(signatureThreadId), digests: signerData?.['digest'] as unknown as Entry[] };
};
const prepare = async (body: object, client: ClientName = 'app'): Promise<Prepared> => preparedIn(await preSign(body, client));
const mapping = (values: Readonly<Record<string, string>>) => ({
  signatureValueMapping: Object.entries(values).map(([id, signatureValue]) => ({ id, signatureValue })),
});
const complete = async (
  signatureThreadId: string,
  values: Readonly<Record<string, string>>,
  client: ClientName = 'app',
  more: object = {},
) => call(client, 'signature/remoteSign', { signatureThreadId, signatureValues: mapping(values), ...more });
const valuesOf = ({ digests }: Prepared, signer: OutsideSigner, algorithm: OutsideAlgorithm): Record<string, string> =>
  Object.fromEntries(digests.map(({ id, digestValue }) => [id, signOutside(signer, digestValue, algorithm)]));
const hashOids = { sha256: '2.16.840.1.101.3.4.2.1', sha384: '2.16.840.1.101.3.4.2.2', sha512: '2.16.840.1.101.3.4.2.3' };
const verifyCms = (cms: Buffer, doc: Buffer | undefined): string => verifiedCades(cms, authority.root, doc);

describe('a CAdES signature in two steps', () => {
  const cases: readonly [OutsideKeyType, OutsideAlgorithm, object][] = [
    ['RSA-2048', { hash: 'sha256' }, {}],
    ['RSA-2048', { hash: 'sha512' }, { digestAlgorithm: 'SHA_512', RSAVersion: 'PKCS_1_1_5' }],
    ['RSA-2048', { hash: 'sha256', pssSaltBytes: 32 }, { RSAVersion: 'PKCS_1_2_1' }],
    ['RSA-2048', { hash: 'sha384', pssSaltBytes: 48 }, { RSAVersion: 'PKCS_1_2_1', digestAlgorithm: 'SHA_384' }],
    ['P-256', { hash: 'sha256' }, {}],
    ['P-384', { hash: 'sha384' }, { digestAlgorithm: 'SHA_384' }],
    ['P-521', { hash: 'sha512' }, { digestAlgorithm: 'SHA_512' }],
  ];

  it.each(cases)('of %s with %o %o, made by OpenSSL, verifies in OpenSSL, attached and detached', async (type, algorithm, options) => {
    const signer = signerOf(type);
    for (const detached of [true, false]) {
      const prepared = await prepare({
        parameters: cades(detached, options),
        inputDocuments: [contentDocument(text)],
        ...certified(signer),
      });
      const [entry] = prepared.digests;
      expect(entry).toMatchObject({ id: 'd', digestAlgOID: hashOids[algorithm.hash] });
      const data = Buffer.from(entry?.dataToSign ?? '', 'base64');
      expect(createHash(algorithm.hash).update(data).digest('base64')).toBe(entry?.digestValue);
      const answer = await complete(prepared.signatureThreadId, valuesOf(prepared, signer, algorithm));
      succeeds(answer);
      expect(textOf(answer.body['optionalOutputs']?.['signatureAlgorithm'])).toBe(entry?.signatureAlgorithmOid);
      expect(verifyCms(evidenceOf(answer), detached ? text : undefined)).toContain('successful');
    }
  });

  it('takes ECDSA values as r‖s too', async () => {
    for (const [type, hash] of [
      ['P-256', 'sha256'],
      ['P-384', 'sha384'],
      ['P-521', 'sha512'],
    ] as const) {
      const options = { digestAlgorithm: hash.replace('sha', 'SHA_') };
      const prepared = await prepare({
        parameters: cades(true, options),
        inputDocuments: [contentDocument(text)],
        ...certified(signerOf(type)),
      });
      const { d = '' } = valuesOf(prepared, signerOf(type), { hash });
      const answer = await complete(prepared.signatureThreadId, { d: rawEcdsa(d, type) });
      expect(codeOf(answer)).toBe('0/0');
      expect(verifyCms(evidenceOf(answer), text)).toContain('successful');
    }
  });

  it('carries the CA certificates of the chain, the root apart, in any order and with others among them', async () => {
    const signer = signerOf('P-256');
    const chain = [derOf(authority.root), authority.issuer, derOf(signerOf('P-384').certificate), derOf(signer.certificate)];
    const asked = { parameters: cades(true), inputDocuments: [contentDocument(text)], signerCertificate: signer.certificate };
    const prepared = await prepare({ ...asked, certificateChain: chain });
    const answer = await complete(prepared.signatureThreadId, valuesOf(prepared, signer, { hash: 'sha256' }));
    const printed = openssl(['cms', '-cmsout', '-inform', 'DER', '-in', '{cms}', '-print'], { cms: evidenceOf(answer) });
    expect([...printed.matchAll(/^\s+subject: (.*)$/gm)].map(([, name = '']) => name).toSorted((a, b) => a.localeCompare(b))).toEqual([
      'CN=Outside Issuer',
      'CN=Outside P-256, C=FR',
    ]);
  });

  it.each([
    ['one entry of certificateChain', (own: string, above: string) => ({ signerCertificate: own, certificateChain: [above] })],
    ['signerCertificate, behind the own one', (own: string, above: string) => ({ signerCertificate: own + above })],
  ])('takes all certificates of a PEM text as %s', async (_place, given) => {
    const { certificate } = signerOf('P-256');
    const trustedCA = createHash('sha1')
      .update(Buffer.from(derOf(authority.root), 'base64'))
      .digest('hex');
    const asked = { parameters: cades(true, { trustedCA }), inputDocuments: [contentDocument(text)] };
    await prepare({ ...asked, ...given(certificate, authority.issuer + authority.root) });
    const tooMany = await preSign({ ...asked, ...given(certificate, authority.issuer.repeat(17)) });
    expect([codeOf(tooMany), messageOf(tooMany)]).toEqual(['1/102', expect.stringContaining('/certificateChain: ')]);
  });

  it('counts certificates, and what parsing them takes, before it parses any', async () => {
    const { certificate } = signerOf('P-256');
    const asked = { parameters: cades(true), inputDocuments: [contentDocument(text)], signerCertificate: certificate };
    const refusalOf = async (certificateChain: readonly string[]): Promise<string | undefined> =>
      messageOf(await preSign({ ...asked, certificateChain }));
    const none = pemOf([Uint8Array.of(0x30, 0)]);
    expect(await refusalOf(Array.from({ length: 16 }, () => none.repeat(32)))).toBe(
      '/certificateChain: 512 certificates; at most 16 are allowed',
    );
    expect(await refusalOf([none, '-----BEGIN'.padEnd(2 * 1024 * 1024)])).toBe(
      '/certificateChain: the certificates have more than 2097152 octets together',
    );
    const heavy = pemOf([strangersCertificate({ extensions: [alternativeNames(3000)] })]);
    expect(await refusalOf([heavy, heavy, heavy, none])).toBe('/certificateChain/3: not a certificate: base64 of its DER, or PEM text');
    expect(await refusalOf([heavy.repeat(4), none])).toBe('/certificateChain: the certificates have more than 10000 elements together');
  });

  it('signs several documents, each on its own, in the order of the request', async () => {
    const signer = signerOf('P-256');
    const inputDocuments = Array.from({ length: 70 }, (_, index) => ({
      ...contentDocument(`content ${index}`),
      ID: `id ${index}`,
      fileName: `${index}.txt`,
    }));
    const prepared = await prepare({ parameters: cades(false), inputDocuments, ...certified(signer) });
    expect(prepared.digests.map(({ id }) => id)).toEqual(inputDocuments.map(({ ID }) => ID));
    const answer = await complete(prepared.signatureThreadId, valuesOf(prepared, signer, { hash: 'sha256' }));
    expect(codeOf(answer)).toBe('0/0');
    const last = inputDocuments.length - 1;
    expect(answer.body['evidenceObjects']?.[last]?.['document']).toMatchObject({ ID: `id ${last}`, fileName: `${last}.txt.p7m` });
    expect(verifyCms(evidenceOf(answer, last), undefined)).toContain('successful');
  });

  it('takes certificates behind documents that fill the body', async () => {
    const comment = ['-addext', `nsComment=${'long '.repeat(100)}`];
    const printed = openssl(['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', '/dev/null', '-subj', '/CN=Long', ...comment]);
    const pem = printed.slice(printed.indexOf('-----BEGIN CERTIFICATE'));
    const inputDocuments = Array.from({ length: 8 }, (_, index) => contentDocument(randomBytes(90_000), `${index}`));
    for (const certificate of [pem, derOf(pem), Buffer.from(pem).toString('base64')]) {
      expect(certificate.length).toBeGreaterThan(1024);
      const prepared = await prepare({
        parameters: cades(true),
        inputDocuments,
        signerCertificate: certificate,
        certificateChain: [certificate],
      });
      expect(prepared.digests).toHaveLength(8);
    }
    const wrong = { parameters: cades(true), inputDocuments, signerCertificate: 'x'.repeat(2000) };
    expect(codeOf(await preSign(wrong))).toBe('1/102');
  });

  it('reads its document from the transfer store or a path, and delivers there too', async () => {
    const signer = signerOf('P-256');
    const content = randomBytes(3_000_000);
    const stored = { ID: 'd', FTMData: { fileID: idOf(await upload('app', content)), fileSize: content.length } };
    const path = join(description.readDirectory ?? '', `${randomUUID()}.bin`);
    writeFileSync(path, content);
    const onDisk = { ID: 'd', fileName: 'big.bin', filePathData: { filePath: path } };
    for (const [document, outputMode] of [
      [stored, 'FTM'],
      [onDisk, 'FILE_PATH'],
    ] as const) {
      const prepared = await prepare({ parameters: cades(false), inputDocuments: [document], ...certified(signer) });
      // What was opened has been read: it may go.
      if (document === stored) await file('app', 'DELETE', stored.FTMData.fileID);
      else unlinkSync(path);
      const outputDirectory = outputMode === 'FILE_PATH' ? { outputDirectory: description.writeDirectory } : {};
      const values = valuesOf(prepared, signer, { hash: 'sha256' });
      const optionalInputs = { evidenceOutput: { outputMode, ...outputDirectory } };
      const answer = await complete(prepared.signatureThreadId, values, 'app', { optionalInputs });
      succeeds(answer);
      const evidence = answer.body['evidenceObject']?.['document'];
      const delivered =
        outputMode === 'FTM'
          ? await fetchedFile('app', textOf(evidence?.['FTMData']?.['fileID']))
          : readFileSync(textOf(evidence?.['filePathData']?.['filePath']));
      expect(verifyCms(delivered, undefined)).toContain('successful');
    }
  });

  it('keeps attached content of several megabytes between the steps', async () => {
    const signer = signerOf('P-256');
    const content = randomBytes(5_000_000);
    const prepared = await prepare({
      parameters: cades(false),
      inputDocuments: [contentDocument(content), contentDocument('', 'e')],
      ...certified(signer),
    });
    const answer = await complete(prepared.signatureThreadId, valuesOf(prepared, signer, { hash: 'sha256' }));
    succeeds(answer);
    expect(verifyCms(evidenceOf(answer), undefined)).toContain('successful');
    expect(verifyCms(evidenceOf(answer, 1), undefined)).toContain('successful');
    expect(evidenceOf(answer).includes(content.subarray(4_000_000, 4_100_000))).toBe(true);
  });
});

describe('rawSignature in two steps', () => {
  const cases: readonly [OutsideKeyType, string | undefined, OutsideAlgorithm, readonly string[]][] = [
    ['RSA-2048', undefined, { hash: 'sha256' }, []],
    ['RSA-2048', '1.2.840.113549.1.1.13', { hash: 'sha512' }, []],
    ['RSA-2048', pssOid, { hash: 'sha256', pssSaltBytes: 32 }, ['-sigopt', 'rsa_padding_mode:pss', '-sigopt', 'rsa_pss_saltlen:32']],
    ['P-256', undefined, { hash: 'sha256' }, []],
    ['P-384', undefined, { hash: 'sha384' }, []],
    ['P-521', undefined, { hash: 'sha512' }, []],
  ];

  it.each(cases)(
    'of %s with %s (%o) verifies in OpenSSL, from content and from a digest, and is DER for ECDSA',
    async (type, oid, algorithm, options) => {
      const signer = signerOf(type);
      const digest = { digestAlgOID: hashOids[algorithm.hash], digestValue: createHash(algorithm.hash).update(text).digest('base64') };
      for (const document of [contentDocument(text), { ID: 'd', digest }]) {
        const prepared = await prepare({ parameters: raw(oid), inputDocuments: [document], ...certified(signer) });
        expect(prepared.digests[0]).toMatchObject(digest);
        const { d = '' } = valuesOf(prepared, signer, algorithm);
        const answer = await complete(prepared.signatureThreadId, { d: type.startsWith('P-') ? rawEcdsa(d, type) : d });
        expect(codeOf(answer)).toBe('0/0');
        expect(evidenceOf(answer).toString('base64')).toBe(d);
        const files = { pub: signer.publicKey, sig: evidenceOf(answer), doc: text };
        expect(openssl(['dgst', `-${algorithm.hash}`, '-verify', '{pub}', ...options, '-signature', '{sig}', '{doc}'], files)).toContain(
          'Verified OK',
        );
      }
    },
  );

  it('answers dataToSign below 64 KiB alone', async () => {
    for (const [bytes, isThere] of [
      [65_535, true],
      [65_536, false],
      [1_000_000, false],
    ] as const) {
      const content = randomBytes(bytes);
      for (const more of [certified(signerOf('P-256')), {}]) {
        const { digests } = await prepare({ parameters: raw(), inputDocuments: [contentDocument(content)], ...more });
        expect(digests[0]?.digestValue).toBe(createHash('sha256').update(content).digest('base64'));
        expect(digests[0]?.dataToSign).toBe(isThere ? content.toString('base64') : undefined);
      }
    }
  });

  it('without a certificate takes values as they are, and says of the algorithm what the request says', async () => {
    const value = randomBytes(70);
    for (const [oid, hash] of [
      [undefined, 'sha256'],
      ['1.2.840.10045.4.3.3', 'sha384'],
    ] as const) {
      const prepared = await prepare({ parameters: raw(oid), inputDocuments: [contentDocument(text)] });
      expect(prepared.digests[0]?.digestValue).toBe(createHash(hash).update(text).digest('base64'));
      expect(prepared.digests[0]?.signatureAlgorithmOid).toBe(oid);
      const answer = await complete(prepared.signatureThreadId, { d: value.toString('base64') });
      expect(codeOf(answer)).toBe('0/0');
      expect(evidenceOf(answer)).toEqual(value);
      expect(answer.body['optionalOutputs']?.['signatureAlgorithm']).toBe(oid);
    }
    const digest = { digestAlgOID: hashOids.sha512, digestValue: createHash('sha512').update(text).digest('base64') };
    expect((await prepare({ parameters: raw(), inputDocuments: [{ ID: 'd', digest }] })).digests[0]).toMatchObject(digest);
    expect(codeOf(await preSign({ parameters: raw('1.2.840.10045.4.3.2'), inputDocuments: [{ ID: 'd', digest }] }))).toBe('1/103');
  });
});

describe('a session', () => {
  const open = async (client: ClientName = 'app'): Promise<{ prepared: Prepared; values: Record<string, string> }> => {
    const inputDocuments = [contentDocument('a', 'a'), contentDocument('b', 'b')];
    const prepared = await prepare({ parameters: cades(true), inputDocuments, ...certified(signerOf('P-256')) }, client);
    return { prepared, values: valuesOf(prepared, signerOf('P-256'), { hash: 'sha256' }) };
  };

  it('is completed once: 2/221 afterwards', async () => {
    const { prepared, values } = await open();
    expect(codeOf(await complete(prepared.signatureThreadId, values))).toBe('0/0');
    expect(codeOf(await complete(prepared.signatureThreadId, values))).toBe('2/221');
  });

  it('is completed once by many at the same time', async () => {
    const { prepared, values } = await open();
    const answers = await Promise.all(Array.from({ length: 12 }, async () => complete(prepared.signatureThreadId, values)));
    expect(answers.map(codeOf).toSorted()).toEqual(['0/0', ...Array.from({ length: 11 }, () => '2/221')]);
  });

  it("is nobody else's: 2/221 for another tenant, for an identifier that is none, and for one that was never given out", async () => {
    const { prepared, values } = await open();
    expect(codeOf(await complete(prepared.signatureThreadId, values, 'other'))).toBe('2/221');
    for (const id of ['', 'x', 'x'.repeat(5000), randomBytes(32).toString('base64url')]) {
      expect(codeOf(await complete(id, values))).toBe('2/221');
    }
    // Another client of the same tenant may.
    expect(codeOf(await complete(prepared.signatureThreadId, values, 'signer'))).toBe('0/0');
  });

  it('stays open after a wrong value (2/222) and after ids that are missing, unknown or double (1/103)', async () => {
    const { prepared, values } = await open();
    const { signatureThreadId } = prepared;
    const { a = '', b = '' } = values;
    const wrong = await complete(signatureThreadId, { a: b, b });
    expect([codeOf(wrong), messageOf(wrong)]).toEqual(['2/222', expect.stringContaining('"a"')]);
    for (const value of [
      '',
      'AA==',
      randomBytes(64).toString('base64'),
      Buffer.concat([Buffer.from(a, 'base64'), Buffer.alloc(1)]).toString('base64'),
    ]) {
      expect(codeOf(await complete(signatureThreadId, { a: value, b }))).toBe('2/222');
    }
    for (const [signatureValueMapping, at] of [
      [[], ''],
      [[{ id: 'a', signatureValue: a }], ''],
      [
        [
          { id: 'a', signatureValue: a },
          { id: 'b', signatureValue: b },
          { id: 'c', signatureValue: b },
        ],
        '/2/id',
      ],
      [
        [
          { id: 'a', signatureValue: a },
          { id: 'b', signatureValue: b },
          { id: 'a', signatureValue: a },
        ],
        '/2/id',
      ],
    ] as const) {
      const answer = await call('app', 'signature/remoteSign', { signatureThreadId, signatureValues: { signatureValueMapping } });
      expect([codeOf(answer), messageOf(answer)]).toEqual([
        '1/103',
        expect.stringContaining(`/signatureValues/signatureValueMapping${at}: `),
      ]);
    }
    expect(codeOf(await complete(signatureThreadId, values, 'app', { optionalInputs: { evidenceOutput: { outputMode: 'PLAIN' } } }))).toBe(
      '1/104',
    );
    expect(codeOf(await complete(signatureThreadId, values))).toBe('0/0');
  });

  it('answers a repetition with its Idempotency-Key again', async () => {
    const { prepared, values } = await open();
    const body = { signatureThreadId: prepared.signatureThreadId, signatureValues: mapping(values), requestID: 'r' };
    const headers = { 'Idempotency-Key': randomBytes(12).toString('hex') };
    const answers = await Promise.all(Array.from({ length: 4 }, async () => call('app', 'signature/remoteSign', body, headers)));
    answers.push(await call('app', 'signature/remoteSign', body, headers));
    expect(answers.map(codeOf)).toEqual(Array.from({ length: 5 }, () => '0/0'));
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    expect((await call('app', 'signature/remoteSign', { ...body, requestID: 's' }, headers)).status).toBe(422);
  });

  it('has an identifier of 256 bits, which differs each time', async () => {
    const ids = await Promise.all([open(), open()]);
    for (const { prepared } of ids) expect(Buffer.from(prepared.signatureThreadId, 'base64url')).toHaveLength(32);
    expect(new Set(ids.map(({ prepared }) => prepared.signatureThreadId)).size).toBe(2);
  });
});

describe('remotePreSign refuses', () => {
  const documents = [contentDocument(text)];
  const expiring = (notBefore: string, notAfter: string) =>
    derOf(authority.certify('P-256', { validity: { notBefore, notAfter } }).certificate);

  it('2/234 for a certificate that has ended or is not valid yet, before it reads a document', async () => {
    for (const signerCertificate of [expiring('20200101000000Z', '20210101000000Z'), expiring('20900101000000Z', '20910101000000Z')]) {
      for (const parameters of [cades(true), raw()]) {
        expect(codeOf(await preSign({ parameters, inputDocuments: documents, signerCertificate }))).toBe('2/234');
      }
    }
  });

  it.each([
    ['1/101', '/signerCertificate', 'no certificate for CAdES', () => ({ parameters: cades(true) })],
    ['1/101', '/inputDocuments', 'no documents', () => ({ parameters: raw(), inputDocuments: undefined })],
    ['1/102', '/signerCertificate', 'a certificate that is none', () => ({ parameters: raw(), signerCertificate: 'AAAA' })],
    [
      '1/102',
      '/signerCertificate',
      'base64 with a line break',
      () => ({ parameters: raw(), signerCertificate: `${derOf(signerOf('P-256').certificate)}\n` }),
    ],
    [
      '1/102',
      '/certificateChain/0',
      'a chain of something else',
      () => ({ ...certified(signerOf('P-256')), parameters: cades(true), certificateChain: ['AAAA'] }),
    ],
    [
      '1/103',
      '/certificateChain',
      'a chain without a certificate',
      () => ({ parameters: raw(), certificateChain: [derOf(authority.root)] }),
    ],
    [
      '1/103',
      '/parameters/XP7Signature/RSAVersion',
      'RSAVersion for another key',
      () => ({ ...certified(signerOf('P-256')), parameters: cades(true, { RSAVersion: 'PKCS_1_1_5' }) }),
    ],
    [
      '1/103',
      '/parameters/XP7Signature/trustedCA',
      'trustedCA that no chain has',
      () => ({ ...certified(signerOf('P-256')), parameters: cades(true, { trustedCA: '00'.repeat(20) }) }),
    ],
    [
      '1/103',
      '/parameters/rawSignature/rawSignatureParameters/signatureAlgorithmOid',
      'an algorithm of another key',
      () => ({ ...certified(signerOf('P-256')), parameters: raw('1.2.840.113549.1.1.11') }),
    ],
    ['1/103', '/parameters', 'no signature member', () => ({ parameters: {} })],
    ['1/102', '/keyReference', 'a member of sign', () => ({ parameters: raw(), keyReference: {} })],
  ])('%s at %s for %s', async (code, at, _name, body) => {
    const answer = await preSign({ inputDocuments: documents, ...body() });
    expect([codeOf(answer), messageOf(answer)]).toEqual([code, expect.stringContaining(`${at}: `)]);
  });

  it('1/104 for RSASSA-PSS without a salt', async () => {
    const rawSignatureParameters = { signatureAlgorithmOid: pssOid, signatureAlgorithmParameters: { PSSParameters: { saltLength: 0 } } };
    for (const signer of [certified(signerOf('RSA-2048')), {}]) {
      const answer = await preSign({ parameters: { rawSignature: { rawSignatureParameters } }, inputDocuments: documents, ...signer });
      expect([codeOf(answer), messageOf(answer)]).toEqual(['1/104', expect.stringContaining('PSSParameters/saltLength: ')]);
    }
  });

  it('1/104 for a key that no signature is made with', async () => {
    const pem = openssl(['req', '-x509', '-newkey', 'ed25519', '-nodes', '-keyout', '/dev/null', '-subj', '/CN=Ed', '-days', '2']);
    const certificate = pem.slice(pem.indexOf('-----BEGIN CERTIFICATE'));
    expect(codeOf(await preSign({ parameters: raw(), inputDocuments: documents, signerCertificate: certificate }))).toBe('1/104');
  });

  it.each([3n, 17n, 65_539n << 1n, (1n << 32n) + 1n, (1n << 256n) + 1n])(
    '1/104 for an RSA key with the public exponent %d',
    async (publicExponent) => {
      const modulus = Buffer.concat([Buffer.of(0xc0), randomBytes(254), Buffer.of(1)]);
      const signerCertificate = authority.certifyKey(rsaPublicKey(modulus, publicExponent));
      const answer = await preSign({ parameters: raw(), inputDocuments: documents, signerCertificate });
      expect([codeOf(answer), messageOf(answer)]).toEqual(['1/104', expect.stringMatching(/^\/signerCertificate: .*public exponent/)]);
    },
  );

  it.each([
    ['16384 bits', Buffer.alloc(2048, 0xc5), 65_537n, /certificate 2 of the chain is an RSA key of 16384 bits/],
    ['an exponent of 64 bits', Buffer.alloc(256, 0xc5), 2n ** 64n - 1n, /a public exponent of 64 bits/],
  ])('1/104 for a CA in its chain that has an RSA key with %s', async (_what, modulus, exponent, why) => {
    const { certificate: signerCertificate } = authority.certify('P-256');
    const certificateChain = [authority.issuer, authority.certifyKey(rsaPublicKey(modulus, exponent))];
    const answer = await preSign({ parameters: raw(), inputDocuments: documents, signerCertificate, certificateChain });
    expect([codeOf(answer), messageOf(answer)]).toEqual(['1/104', expect.stringMatching(why)]);
    expect(messageOf(answer)).toMatch(/^\/certificateChain: /);
  });

  it('a value that nobody made: for a public exponent of 3, by a cube root', async () => {
    const signer = authority.certify('RSA-2048', { publicExponent: 3n });
    const digest = createHash('sha256').update(text).digest();
    const document = { ID: 'd', digest: { digestAlgOID: hashOids.sha256, digestValue: digest.toString('base64') } };
    const opened = await preSign({ parameters: raw(), inputDocuments: [document], ...certified(signer) });
    const forged = forgedByCubeRoot(256, hashOids.sha256, digest).toString('base64');
    const answer = codeOf(opened) === '0/0' ? await complete(preparedIn(opened).signatureThreadId, { d: forged }) : opened;
    expect(codeOf(answer)).toBe('1/104');
  });

  it('nothing where trustedCA is any certificate of the chain, given or known', async () => {
    const sha1 = (pem: string) =>
      createHash('sha1')
        .update(Buffer.from(derOf(pem), 'base64'))
        .digest('hex');
    for (const pem of [authority.root, authority.issuer]) {
      await prepare({ ...certified(signerOf('P-256')), parameters: cades(true, { trustedCA: sha1(pem) }), inputDocuments: documents });
    }
  });
});
