import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  call,
  codeOf,
  contentDocument,
  evidenceOf,
  messageOf,
  newKey,
  root,
  secretOf,
  type ClientName,
  type TestKey,
} from '../support/api.ts';
import { openssl } from '../support/openssl.ts';
import { succeeds } from '../support/succeeds.ts';

const text = Buffer.from('Contrat n° 1 — signé pour de vrai\n');
const keys: Record<string, TestKey> = {};
const clients: readonly ClientName[] = ['app', 'other', 'p384'];

beforeAll(async () => {
  for (const client of clients) keys[client] = await newKey(client);
});

const keyOf = (client: ClientName): TestKey => {
  const key = keys[client];
  if (key === undefined) throw new Error(`no key for ${client}`);
  return key;
};
const publicKey = (key: TestKey): string =>
  openssl(['x509', '-inform', 'DER', '-in', '{cert}', '-pubkey', '-noout'], { cert: key.certificate });
const sign = async (client: ClientName, parameters: unknown, inputDocuments: unknown, more: object = {}) =>
  call(client, 'signature/sign', { keyReference: secretOf(keyOf(client)), parameters, inputDocuments, ...more });
const raw = (signatureAlgorithmOid?: string, signatureAlgorithmParameters?: object) => ({
  rawSignature: {
    rawSignatureParameters: {
      ...(signatureAlgorithmOid === undefined ? {} : { signatureAlgorithmOid }),
      ...(signatureAlgorithmParameters === undefined ? {} : { signatureAlgorithmParameters }),
    },
  },
});
const cades = (detached: boolean, more: object = {}) => ({
  XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached } }, ...more },
});
const policy = {
  URL: 'https://policy.example/v1.pdf',
  OID: '1.2.250.1.1.1.1',
  digest: { digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: createHash('sha256').update('policy').digest('hex') },
};
const explicit = (changes: object): object => ({ signaturePolicy: 'EXPLICIT', sigPolicyQualifier: { ...policy, ...changes } });
const hashOids = { sha256: '2.16.840.1.101.3.4.2.1', sha384: '2.16.840.1.101.3.4.2.2', sha512: '2.16.840.1.101.3.4.2.3' };
const digestDocument = (hash: keyof typeof hashOids): object => ({
  ID: 'd',
  digest: { digestAlgOID: hashOids[hash], digestValue: createHash(hash).update(text).digest('base64') },
});

describe('rawSignature', () => {
  const pss = '1.2.840.113549.1.1.10';
  const cases: readonly [ClientName, string | undefined, keyof typeof hashOids, readonly string[]][] = [
    ['app', undefined, 'sha256', []],
    ['app', '1.2.840.113549.1.1.11', 'sha256', []],
    ['app', '1.2.840.113549.1.1.12', 'sha384', []],
    ['app', '1.2.840.113549.1.1.13', 'sha512', []],
    ['app', pss, 'sha256', ['-sigopt', 'rsa_padding_mode:pss', '-sigopt', 'rsa_pss_saltlen:32']],
    ['other', undefined, 'sha256', []],
    ['other', '1.2.840.10045.4.3.2', 'sha256', []],
    ['other', '1.2.840.10045.4.3.3', 'sha384', []],
    ['other', '1.2.840.10045.4.3.4', 'sha512', []],
    ['p384', undefined, 'sha384', []],
    ['p384', '1.2.840.10045.4.3.4', 'sha512', []],
  ];

  it.each(cases)('of %s with %s (%s) verifies in OpenSSL, made from content and from a digest', async (client, oid, hash, options) => {
    for (const document of [contentDocument(text), digestDocument(hash)]) {
      const answer = await sign(client, raw(oid), [document]);
      succeeds(answer);
      const files = { pub: publicKey(keyOf(client)), sig: evidenceOf(answer), doc: text };
      expect(openssl(['dgst', `-${hash}`, '-verify', '{pub}', ...options, '-signature', '{sig}', '{doc}'], files)).toContain('Verified OK');
    }
  });

  it('goes by the PSS parameters: hash, salt length', async () => {
    const parameters = {
      PSSParameters: {
        digestAlgorithmOid: hashOids.sha512,
        saltLength: 11,
        trailerField: 1,
        maskGenerationParameters: {
          maskGenerationFunctionOid: '1.2.840.113549.1.1.8',
          maskGenerationFunction1Parameters: { digestAlgorithmOid: hashOids.sha512 },
        },
      },
      PSSMGF1Parameters: { digestAlgorithmOid: hashOids.sha512 },
    };
    for (const document of [contentDocument(text), digestDocument('sha512')]) {
      const answer = await sign('app', raw(pss, parameters), [document]);
      expect(codeOf(answer)).toBe('0/0');
      const files = { pub: publicKey(keyOf('app')), sig: evidenceOf(answer), doc: text };
      expect(
        openssl(
          [
            'dgst',
            '-sha512',
            '-verify',
            '{pub}',
            '-sigopt',
            'rsa_padding_mode:pss',
            '-sigopt',
            'rsa_pss_saltlen:11',
            '-signature',
            '{sig}',
            '{doc}',
          ],
          files,
        ),
      ).toContain('Verified OK');
    }
  });

  it('without algorithm takes the hash of the digest given', async () => {
    const answer = await sign('other', raw(), [digestDocument('sha512')]);
    expect(answer.body['optionalOutputs']).toEqual({ signatureAlgorithm: '1.2.840.10045.4.3.4' });
  });

  it('refuses digests of several hashes in one call, since the answer names one algorithm', async () => {
    const documents = [digestDocument('sha384'), { ...digestDocument('sha512'), ID: 'e' }];
    const answer = await sign('app', raw(), documents);
    expect([codeOf(answer), messageOf(answer)]).toEqual(['1/103', expect.stringMatching(/^\/inputDocuments\/1: /)]);
    const contentToo = await sign('app', raw(), [contentDocument(text, 'c'), digestDocument('sha512')]);
    expect(codeOf(contentToo)).toBe('1/103');
    const one = await sign('app', raw(), [digestDocument('sha384'), { ...digestDocument('sha384'), ID: 'e' }]);
    expect(one.body['optionalOutputs']).toEqual({ signatureAlgorithm: '1.2.840.113549.1.1.12' });
  });

  it('signs several documents each on its own, in their order', async () => {
    const documents = [
      contentDocument('one', '1'),
      contentDocument('two', '2'),
      { ID: '3', plainData: { plainValue: 'trois é' } },
      contentDocument('', '4'),
    ];
    const answer = await sign('app', raw(), documents, { requestID: 'r-1' });
    expect(answer.body['requestID']).toBe('r-1');
    expect(answer.body['evidenceObject']).toEqual(answer.body['evidenceObjects']?.['0']);
    for (const [index, content] of ['one', 'two', 'trois é', ''].entries()) {
      expect(answer.body['evidenceObjects']?.[index]?.['document']?.['ID']).toBe(String(index + 1));
      const files = { pub: publicKey(keyOf('app')), sig: evidenceOf(answer, index), doc: content };
      expect(openssl(['dgst', '-sha256', '-verify', '{pub}', '-signature', '{sig}', '{doc}'], files)).toContain('Verified OK');
    }
  });

  it.each([
    ['1/104', 'an algorithm that is not offered', '1.3.101.112', undefined, [contentDocument(text)]],
    ['1/104', 'SHA-1', '1.2.840.113549.1.1.5', undefined, [contentDocument(text)]],
    ['1/102', 'an OID that is none', '1.2.x', undefined, [contentDocument(text)]],
    ['1/103', 'an algorithm for another key', '1.2.840.10045.4.3.2', undefined, [contentDocument(text)]],
    ['1/103', 'a digest of another hash', '1.2.840.113549.1.1.11', undefined, [digestDocument('sha512')]],
    ['1/103', 'PSS parameters with another algorithm', '1.2.840.113549.1.1.11', { PSSParameters: {} }, [contentDocument(text)]],
    [
      '1/104',
      'MGF1 with another hash, which this token does not have',
      pss,
      { PSSMGF1Parameters: { digestAlgorithmOid: hashOids.sha512 } },
      [contentDocument(text)],
    ],
    ['1/102', 'another trailer', pss, { PSSParameters: { trailerField: 2 } }, [contentDocument(text)]],
    ['1/104', 'no salt', pss, { PSSParameters: { saltLength: 0 } }, [contentDocument(text)]],
    ['1/103', 'a salt too long for the key', pss, { PSSParameters: { saltLength: 300 } }, [contentDocument(text)]],
    [
      '1/104',
      'a SHA-1 digest',
      undefined,
      undefined,
      [{ ID: 'd', digest: { digestAlgOID: '1.3.14.3.2.26', digestValue: Buffer.alloc(20).toString('base64') } }],
    ],
    [
      '1/103',
      'a digest of wrong length',
      undefined,
      undefined,
      [{ ID: 'd', digest: { digestAlgOID: hashOids.sha256, digestValue: 'AAAA' } }],
    ],
  ])('answers %s to %s', async (code, _name, oid, parameters, documents) => {
    expect(codeOf(await sign('app', raw(oid, parameters), documents))).toBe(code);
  });
});

describe('CAdES (CXP_7)', () => {
  const verify = (cms: Buffer, more: readonly string[] = [], files: Record<string, Uint8Array> = {}): string =>
    openssl(['cms', '-verify', '-cades', '-binary', '-inform', 'DER', '-in', '{cms}', '-CAfile', '{root}', ...more], {
      cms,
      root: readFileSync(root),
      ...files,
    });

  it.each(clients)('of %s is accepted by OpenSSL, detached and attached', async (client) => {
    const detached = await sign(client, cades(true), [{ ...contentDocument(text), fileName: 'contrat.txt' }]);
    expect(codeOf(detached)).toBe('0/0');
    expect(detached.body['evidenceObject']?.['document']).toEqual(
      expect.objectContaining({ ID: 'd', fileName: 'contrat.txt.p7s', mimeType: 'application/pkcs7-signature' }),
    );
    expect(verify(evidenceOf(detached), ['-content', '{doc}', '-out', '/dev/null'], { doc: text })).toContain('successful');
    expect(() => verify(evidenceOf(detached), ['-content', '{doc}', '-out', '/dev/null'], { doc: Buffer.from('other') })).toThrow();
    const attached = await sign(client, cades(false), [contentDocument(text)]);
    expect(attached.body['evidenceObject']?.['document']).toEqual(expect.objectContaining({ mimeType: 'application/pkcs7-mime' }));
    expect(verify(evidenceOf(attached))).toContain(text.toString('utf8').trim());
  });

  it.each([
    ['app', { digestAlgorithm: 'SHA_384' }],
    ['app', { digestAlgorithm: 'SHA_512', RSAVersion: 'PKCS_1_1_5' }],
    ['app', { RSAVersion: 'PKCS_1_2_1' }],
    ['app', { RSAVersion: 'PKCS_1_2_1', digestAlgorithm: 'SHA_512' }],
    ['other', { digestAlgorithm: 'SHA_512' }],
    ['p384', { digestAlgorithm: 'SHA_384', contentPreparation: {} }],
  ] as const)('of %s with %o is accepted too', async (client, options) => {
    const answer = await sign(client, cades(true, options), [contentDocument(text)]);
    expect(codeOf(answer)).toBe('0/0');
    expect(verify(evidenceOf(answer), ['-content', '{doc}', '-out', '/dev/null'], { doc: text })).toContain('successful');
  });

  it('signs content of several megabytes and empty content', async () => {
    for (const content of [Buffer.alloc(5_000_000, 7), Buffer.alloc(0)]) {
      const answer = await sign('other', cades(false), [contentDocument(content)]);
      expect(verify(evidenceOf(answer), ['-out', '/dev/null'])).toContain('successful');
    }
  });

  it('takes trustedCA where the chain has it, and answers 1/103 where not', async () => {
    const fingerprint = createHash('sha1')
      .update(Buffer.from(readFileSync(root, 'utf8').replaceAll(/-----[^-]+-----|\s/g, ''), 'base64'))
      .digest('hex');
    expect(codeOf(await sign('app', cades(true, { trustedCA: fingerprint.toUpperCase() }), [contentDocument(text)]))).toBe('0/0');
    expect(codeOf(await sign('app', cades(true, { trustedCA: '00'.repeat(20) }), [contentDocument(text)]))).toBe('1/103');
  });

  it.each([
    ['1/103', { signedProperties: { signingTime: { source: 'CLIENT' } } }],
    ['1/103', { signedProperties: { signingTime: { source: 'SYSTEM', time: 1 } } }],
    ['1/103', { signedProperties: { signingTime: { time: 1 } } }],
    ['1/103', { signedProperties: { signingTime: { source: 'NONE', time: 1 } } }],
    ['1/103', { signedProperties: { signingTime: { source: 'CLIENT', time: Date.UTC(2001, 0) } } }],
    ['1/103', { signedProperties: { signingTime: { source: 'CLIENT', time: Number.MAX_SAFE_INTEGER } } }],
    ['1/102', { signedProperties: { signingTime: { source: 'CLIENT', time: 1.5 } } }],
    ['1/103', { signedProperties: { signaturePolicy: 'EXPLICIT' } }],
    ['1/103', { signedProperties: { signaturePolicy: 'IMPLICIT', sigPolicyQualifier: policy } }],
    ['1/103', { signedProperties: { sigPolicyQualifier: policy } }],
    ['1/103', { signedProperties: explicit({ digest: { ...policy.digest, digestValue: '00' } }) }],
    ['1/102', { signedProperties: explicit({ digest: { ...policy.digest, digestValue: 'ABC' } }) }],
    ['1/104', { signedProperties: explicit({ digest: { ...policy.digest, digestAlgOID: '1.2.3' } }) }],
    ['1/102', { signedProperties: explicit({ URL: 'https://é.example' }) }],
    ['1/101', { signedProperties: explicit({ OID: undefined }) }],
    ['1/103', { signedProperties: { signatureType: 'APPELLATION', commitmentTypeId: 'RECEIPT' } }],
    ['0/0', { signedProperties: { signatureType: 'INDEPENDENT', commitmentTypeId: 'RECEIPT' } }],
    ['0/0', { signedProperties: { signatureType: 'APPELLATION', commitmentTypeId: 'ORIGIN' } }],
    ['1/102', { signedProperties: { commitmentText: 'x'.repeat(201) } }],
    ['1/102', { signedProperties: { commitmentText: '' } }],
    ['0/0', { signedProperties: { commitmentText: '🖋'.repeat(200) } }],
    ['0/0', { signedProperties: { commitmentText: 'x'.repeat(201), commitmentTypeId: 'APPROVAL' } }],
    ['1/102', { signedProperties: { signatureProductionPlace: { countryCode: 'XX' } } }],
    ['1/102', { signedProperties: { signatureProductionPlace: { city: '' } } }],
    ['0/0', { signedProperties: { signatureProductionPlace: {} } }],
    ['1/101', { signedProperties: { signerRole: {} } }],
    ['0/0', { signedProperties: { signerRole: { claimedRoles: {} } } }],
    ['1/102', { signedProperties: { signerRole: { claimedRoles: { claimedRole: ['Notaire', ''] } } } }],
    ['1/102', { signedProperties: { signerRole: { claimedRoles: { claimedRole: Array.from({ length: 65 }, () => 'x') } } } }],
    ['1/102', { signedProperties: { unknownMember: 1 } }],
    ['0/0', { signedProperties: {} }],
    ['1/104', { digestAlgorithm: 'SHA_1' }],
    ['1/102', { digestAlgorithm: 'MD5' }],
    ['1/103', { longTermValidation: {} }],
    ['1/103', { recovery: { interval: 1, maxAttempts: 2 } }],
    ['1/103', { contentPreparation: { PDFContent: { image: 'AAAA' } } }],
    ['1/102', { timeStamp: { unknownMember: 1 } }],
    ['1/102', { trustedCA: 'xyz' }],
  ])('answers %s to %o', async (code, options) => {
    expect(codeOf(await sign('app', cades(true, options), [contentDocument(text)]))).toBe(code);
  });

  it('answers 1/103 to RSAVersion with a key that is not RSA', async () => {
    expect(codeOf(await sign('other', cades(true, { RSAVersion: 'PKCS_1_1_5' }), [contentDocument(text)]))).toBe('1/103');
    expect(codeOf(await sign('app', cades(true, { validateSignatures: true }), [contentDocument(text)]))).toBe('0/0');
  });

  it('co-signs what is signed already, by another client and another algorithm, and refuses it where a signature is broken and validation is asked for', async () => {
    const first = evidenceOf(await sign('app', cades(false, { digestAlgorithm: 'SHA_512' }), [contentDocument(text)]));
    const both = await sign('other', cades(false, { validateSignatures: true }), [contentDocument(first)]);
    expect(codeOf(both)).toBe('0/0');
    const printed = openssl(['cms', '-cmsout', '-print', '-noout', '-inform', 'DER', '-in', '{cms}'], { cms: evidenceOf(both) });
    expect(printed.match(/signatureAlgorithm:/g)?.length).toBe(2);
    expect(verify(evidenceOf(both))).toContain(text.toString('utf8').trim());
    const broken = Buffer.from(first);
    broken.write('c', broken.indexOf('Contrat'));
    const refused = await sign('other', cades(false, { validateSignatures: true }), [
      contentDocument(text, '1'),
      contentDocument(broken, '2'),
    ]);
    expect([codeOf(refused), messageOf(refused)]).toEqual(['2/235', expect.stringMatching(/signature 1 of 1 does not match the content/)]);
    expect(codeOf(await sign('other', cades(false, { validateSignatures: false }), [contentDocument(broken)]))).toBe('0/0');
    expect(codeOf(await sign('other', cades(false, { validateSignatures: false }), [contentDocument(first.subarray(0, -1))]))).toBe(
      '1/105',
    );
    const whole = evidenceOf(await sign('other', cades(false), [contentDocument(first)]));
    expect(
      openssl(['cms', '-cmsout', '-print', '-noout', '-inform', 'DER', '-in', '{cms}'], { cms: whole }).match(/signatureAlgorithm:/g)
        ?.length,
    ).toBe(1);
  });

  it('signs the time that the client says, or none', async () => {
    const time = Date.now();
    const said = await sign('app', cades(true, { signedProperties: { signingTime: { source: 'CLIENT', time } } }), [contentDocument(text)]);
    const none = await sign('app', cades(true, { signedProperties: { signingTime: { source: 'NONE' } } }), [contentDocument(text)]);
    const digits = `${new Date(time).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`;
    expect(evidenceOf(said).includes(digits)).toBe(true);
    const signingTime = Buffer.from('06092a864886f70d010905', 'hex');
    expect([evidenceOf(said).includes(signingTime), evidenceOf(none).includes(signingTime)]).toEqual([true, false]);
    expect(verify(evidenceOf(none), ['-content', '{doc}', '-out', '/dev/null'], { doc: text })).toContain('successful');
  });

  it('gives the file name its ending within 255 bytes', async () => {
    const answer = await sign('app', cades(true), [{ ...contentDocument(text), fileName: 'é'.repeat(127) }]);
    expect(answer.body['evidenceObject']?.['document']?.['fileName']).toBe(`${'é'.repeat(125)}.p7s`);
  });

  it('ignores the provider members of other formats', async () => {
    const providers = { CXP7Parameters: { detached: true }, PXP7Parameters: { docMDPLevel: 'LEVEL_1' } };
    expect(codeOf(await sign('app', { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: providers } }, [contentDocument(text)]))).toBe(
      '0/0',
    );
  });
});

describe('sign refuses', () => {
  const documents = [contentDocument(text)];
  it.each([
    ['1/103', 'no member of parameters', {}, documents],
    ['1/103', 'two members of parameters', { ...raw(), ...cades(true) }, documents],
    ['1/105', 'enveloped XAdES of a text that is no XML', { envelopedXAdESSignature: {} }, documents],
    ['1/103', '2D-Doc with an RSA key', { code2DDocSignature: {} }, documents],
    ['1/105', 'PAdES of a document that is no PDF', { XP7Signature: { XP7Format: 'PXP_7' } }, documents],
    ['1/101', 'no XP7Format', { XP7Signature: {} }, documents],
    ['1/101', 'CXP_7 that says neither attached nor detached', { XP7Signature: { XP7Format: 'CXP_7' } }, documents],
    ['1/102', 'no document', raw(), []],
    ['1/102', 'more documents than the limit', raw(), Array.from({ length: 101 }, (_, index) => contentDocument('x', String(index)))],
    ['1/103', 'a document without content', raw(), [{ ID: 'd' }]],
    ['1/103', 'a document with two contents', raw(), [{ ...contentDocument('x'), plainData: { plainValue: 'x' } }]],
    ['1/103', 'two documents with one ID', raw(), [contentDocument('x'), contentDocument('y')]],
    ['1/103', 'a digest for CAdES', cades(true), [digestDocument('sha256')]],
    ['2/241', 'a file path', raw(), [{ ID: 'd', filePathData: { filePath: '/etc/passwd' } }]],
    ['2/242', 'a transfer file', raw(), [{ ID: 'd', FTMData: { fileID: 'x', fileSize: 1 } }]],
    ['1/102', 'a file name with a separator', raw(), [{ ...contentDocument('x'), fileName: '../x' }]],
    ['1/102', 'a file name that is a directory', raw(), [{ ...contentDocument('x'), fileName: '..' }]],
    ['1/102', 'a file name of 256 bytes', raw(), [{ ...contentDocument('x'), fileName: 'x'.repeat(256) }]],
    ['1/102', 'a media type that is none', raw(), [{ ...contentDocument('x'), mimeType: 'x\r\n' }]],
    ['1/103', 'a password of what is no PDF', raw(), [{ ...contentDocument('x'), password: 'secret' }]],
    ['1/102', 'text that is no base64', raw(), [{ ID: 'd', base64Data: { base64Value: 'AB=C' } }]],
    ['1/102', 'base64 with a line break', raw(), [{ ID: 'd', base64Data: { base64Value: 'AAAA\nAAAA' } }]],
    ['1/101', 'a document without ID', raw(), [{ base64Data: { base64Value: 'AAAA' } }]],
  ])('%s for %s', async (code, _name, parameters, inputDocuments) => {
    expect(codeOf(await sign('app', parameters, inputDocuments))).toBe(code);
  });

  it.each([
    ['1/104', { outputMode: 'PLAIN' }],
    ['1/103', { outputMode: 'FILE_PATH' }],
    ['2/241', { outputMode: 'FILE_PATH', outputDirectory: '/tmp' }],
    ['1/102', { outputMode: 'MAIL' }],
    ['0/0', { outputMode: 'BASE_64' }],
    ['1/103', { outputMode: 'BASE_64', outputDirectory: '/tmp' }],
    ['1/103', { outputDirectory: '/tmp' }],
  ])('%s for evidenceOutput %o', async (code, evidenceOutput) => {
    expect(codeOf(await sign('app', raw(), documents, { optionalInputs: { evidenceOutput } }))).toBe(code);
  });

  it('says that SHA_1 is not allowed, and what is', async () => {
    const answer = await sign('app', cades(true, { digestAlgorithm: 'SHA_1' }), documents);
    expect(messageOf(answer)).toBe(
      '/parameters/XP7Signature/digestAlgorithm: SHA_1 is not allowed for this tenant; supported: SHA_256, SHA_384 and SHA_512',
    );
  });

  it('a missing field before a wrong one, a wrong one before an unknown one, and names it by its pointer', async () => {
    const missing = await call('app', 'signature/sign', { keyReference: { reference: 'zz', odd: 1 }, inputDocuments: documents });
    expect([codeOf(missing), messageOf(missing)]).toEqual(['1/101', expect.stringMatching(/^\/parameters: /)]);
    const wrong = await call('app', 'signature/sign', {
      keyReference: { reference: 'zz', odd: 1 },
      parameters: raw(),
      inputDocuments: documents,
    });
    expect([codeOf(wrong), messageOf(wrong)]).toEqual(['1/102', expect.stringMatching(/^\/keyReference\/reference: /)]);
    const unknown = await sign('app', { rawSignature: { 'a/b~c': 1 } }, documents);
    expect([codeOf(unknown), messageOf(unknown)]).toEqual(['1/102', expect.stringMatching(/^\/parameters\/rawSignature\/a~1b~0c: /)]);
    const prototype = await call(
      'app',
      'signature/sign',
      `{"keyReference":${JSON.stringify(secretOf(keyOf('app')))},"parameters":{"rawSignature":{}},"inputDocuments":${JSON.stringify(documents)},"__proto__":{}}`,
    );
    expect([codeOf(prototype), messageOf(prototype)]).toEqual(['1/102', expect.stringMatching(/^\/__proto__: /)]);
  });

  it('fields before the key, the key before its password', async () => {
    const unknown = { reference: '00'.repeat(20) };
    expect(codeOf(await call('app', 'signature/sign', { keyReference: unknown, parameters: {}, inputDocuments: documents }))).toBe('1/103');
    expect(codeOf(await call('app', 'signature/sign', { keyReference: unknown, parameters: raw(), inputDocuments: documents }))).toBe(
      '2/201',
    );
    const { reference, password } = keyOf('app');
    const noSecret = await call('app', 'signature/sign', { keyReference: { reference }, parameters: raw(), inputDocuments: documents });
    expect([codeOf(noSecret), messageOf(noSecret)]).toEqual(['1/101', expect.stringMatching(/^\/keyReference\/password: /)]);
    expect(
      codeOf(
        await call('app', 'signature/sign', {
          keyReference: { reference, authToken: password },
          parameters: raw(),
          inputDocuments: documents,
        }),
      ),
    ).toBe('1/101');
    expect(
      codeOf(
        await call('app', 'signature/sign', {
          keyReference: { reference, password, transactionId: 't' },
          parameters: raw(),
          inputDocuments: documents,
        }),
      ),
    ).toBe('2/202');
  });

  it("2/201 for another tenant's key, and lets a client with the role signature alone sign with its tenant's", async () => {
    const request = { keyReference: secretOf(keyOf('app')), parameters: raw(), inputDocuments: documents };
    expect(codeOf(await call('other', 'signature/sign', request))).toBe('2/201');
    expect(codeOf(await call('signer', 'signature/sign', request))).toBe('0/0');
    expect(
      codeOf(
        await call('signer', 'signature/sign', {
          ...request,
          keyReference: { ...request.keyReference, reference: request.keyReference.reference.toUpperCase() },
        }),
      ),
    ).toBe('0/0');
  });
});
