import { createHash, createPrivateKey, sign as signValue, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnsweringServer } from '../support/answering-server.ts';
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
  type TestKey,
} from '../support/api.ts';
import { openssl } from '../support/openssl.ts';
import { derOf } from '../support/outside-signer.ts';
import { hourMs, ScratchAuthority, type CertificateFiles } from '../support/scratch-authority.ts';
import { succeeds } from '../support/succeeds.ts';

const text = Buffer.from('Contrat n° 3 — pour trente ans\n');
const client = 'other';
const directory = mkdtempSync(join(tmpdir(), 'signetd-levels-'));
const servers: AnsweringServer[] = [];
let key: TestKey;

beforeAll(async () => {
  key = await newKey(client);
});
afterAll(() => {
  for (const server of servers) server.stop();
  rmSync(directory, { recursive: true, force: true });
});

const cades = (members: object, detached = true) => ({
  XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached } }, ...members },
});
const sign = async (members: object, { detached = true, keyReference = secretOf(key), documents = [contentDocument(text)] } = {}) =>
  call(client, 'signature/sign', { keyReference, parameters: cades(members, detached), inputDocuments: documents });
const serving = async (answering: AnsweringServer['answering']): Promise<AnsweringServer> => {
  const server = await AnsweringServer.start(answering);
  servers.push(server);
  return server;
};
const verified = (cms: Buffer, detached: boolean, ca = readFileSync(root)): string =>
  openssl(
    [
      ...[
        'cms',
        '-verify',
        '-cades',
        '-binary',
        '-inform',
        'DER',
        '-in',
        '{cms}',
        '-CAfile',
        '{ca}',
        '-purpose',
        'any',
        '-out',
        '/dev/null',
      ],
      ...(detached ? ['-content', '{doc}'] : []),
    ],
    { cms, ca, doc: text },
  );
/** One whose certificate begins in a later second than this one. */
const newKeyOfLaterSecond = async (): Promise<TestKey> => {
  const now = Date.now();
  for (;;) {
    const made = await newKey(client);
    if (Date.parse(new X509Certificate(made.certificate).validFrom) > now) return made;
  }
};
/** How OpenSSL prints it. */
const printed = (cms: Buffer): string => openssl(['cms', '-cmsout', '-print', '-noout', '-inform', 'DER', '-in', '{cms}'], { cms });
const countOf = (words: string, within: string): number => within.split(words).length - 1;
const levels = {
  T: { timeStamp: {} },
  LT: { timeStamp: {}, longTermValidation: {} },
  LTA: { timeStamp: {}, longTermValidation: { archiveTimeStamp: true } },
};

describe('a signature at a level above baseline B', () => {
  it.each([
    ['T', true],
    ['T', false],
    ['LT', true],
    ['LT', false],
    ['LTA', true],
    ['LTA', false],
  ] as const)('%s, detached %s, verifies in OpenSSL and holds what the level needs', async (level, detached) => {
    const answer = await sign(levels[level], { detached });
    succeeds(answer);
    const cms = evidenceOf(answer);
    expect(verified(cms, detached)).toContain('successful');
    const all = printed(cms);
    expect(countOf('id-smime-aa-timeStampToken', all)).toBe(1);
    expect(countOf('0.4.0.1733.2.4', all)).toBe(level === 'LTA' ? 1 : 0);
    // RFC 5940: OCSP answers of the signer, of its authority, and of the time-stamp authority.
    expect(countOf('1.3.6.1.5.5.7.16.2', all)).toBe(level === 'T' ? 0 : 3);
  });

  it('of each of several documents has a time-stamp of its own', async () => {
    const documents = ['one', 'two', 'three'].map((one) => contentDocument(one, one));
    const answer = await sign(levels.LT, { documents });
    expect(codeOf(answer)).toBe('0/0');
    const tokens = documents.map((_, index) =>
      createHash('sha256')
        .update(printed(evidenceOf(answer, index)))
        .digest('hex'),
    );
    expect(new Set(tokens).size).toBe(3);
  });

  it.each([
    ['CERTIFICATE', []],
    ['CLIENT', [`${description.publicUrl ?? ''}/pki/issuing.crl`]],
  ])('holds a CRL by %s that is not older than the certificate, also for a certificate of this very moment', async (URLSource, urls) => {
    const source = { URLSource, ...(urls.length > 0 ? { clientURL: urls } : {}) };
    const asked = { signerRevocationValueChoice: 'CRL', signerRevocationDataSource: { CRL: source } };
    // The CRLs that are there, and kept, by now are older than the certificate of the second key.
    for (const newest of [await newKey(client), await newKeyOfLaterSecond()]) {
      const answer = await sign({ timeStamp: {}, longTermValidation: asked }, { keyReference: secretOf(newest) });
      succeeds(answer);
      const [, lastUpdate = ''] = /lastUpdate: (.+)/.exec(printed(evidenceOf(answer))) ?? [];
      expect(Date.parse(lastUpdate)).toBeGreaterThanOrEqual(Date.parse(new X509Certificate(newest.certificate).validFrom));
    }
  });

  it.each([
    ['OCSP', 'OCSP', 0, 3],
    ['CRL', 'CRL', 2, 0],
    ['BOTH', 'BOTH', 2, 3],
    ['OCSP', 'CRL', 1, 1],
  ] as const)(
    'holds the revocation data that was chosen: %s of the signer, %s of the authorities',
    async (signer, authorities, crls, answers) => {
      const choice = { signerRevocationValueChoice: signer, authoritiesRevocationValueChoice: authorities };
      const answer = await sign({ timeStamp: {}, longTermValidation: choice });
      succeeds(answer);
      const all = printed(evidenceOf(answer));
      expect([countOf('Certificate Revocation List', all) + countOf('d.crl:', all), countOf('1.3.6.1.5.5.7.16.2', all)]).toEqual([
        crls,
        answers,
      ]);
    },
  );

  it.each(['CERTIFICATE', 'SERVER', 'CLIENT'] as const)('gets revocation data by URLSource %s', async (URLSource) => {
    const { publicUrl = '' } = description;
    const of = (...paths: string[]) => ({
      URLSource,
      ...(URLSource === 'CLIENT' ? { clientURL: paths.map((path) => publicUrl + path) } : {}),
    });
    const sources = { OCSP: of('/ocsp/issuing', '/ocsp/root'), CRL: of('/pki/issuing.crl', '/pki/root.crl') };
    const answer = await sign({
      timeStamp: { URLSource: 'CLIENT', clientURL: [description.timestampUrl], nonce: false },
      longTermValidation: {
        ...{ signerRevocationDataSource: sources, authoritiesRevocationDataSource: sources },
        ...{ signerRevocationValueChoice: 'BOTH', authoritiesRevocationValueChoice: 'BOTH' },
      },
    });
    succeeds(answer);
    expect(verified(evidenceOf(answer), true)).toContain('successful');
  });

  it.each([
    ['1/103', { timeStamp: { URLSource: 'CLIENT' } }],
    ['1/103', { timeStamp: { URLSource: 'CLIENT', clientURL: [] } }],
    ['1/103', { timeStamp: { URLSource: 'SERVER', clientURL: ['http://127.0.0.1/'] } }],
    ['1/102', { timeStamp: { URLSource: 'CLIENT', clientURL: ['ftp://127.0.0.1/'] } }],
    ['1/102', { timeStamp: { URLSource: 'CLIENT', clientURL: ['file:///etc/passwd'] } }],
    ['1/102', { timeStamp: { URLSource: 'CLIENT', clientURL: ['gopher://127.0.0.1/'] } }],
    ['1/102', { timeStamp: { URLSource: 'CLIENT', clientURL: ['http://user:secret@127.0.0.1/'] } }],
    ['1/104', { timeStamp: { URLSource: 'CLIENT', clientURL: ['http://169.254.169.254/latest/meta-data'] } }],
    ['1/104', { timeStamp: { URLSource: 'CLIENT', clientURL: ['http://127.0.0.1/', 'http://tsa.example.org/'] } }],
    ['1/104', { timeStamp: { digestAlg: 'SHA_1' } }],
    ['1/103', { timeStamp: { credentials: { userName: 'a:b', password: 'x' } } }],
    ['2/231', { timeStamp: { URLSource: 'CERTIFICATE' } }],
    ['2/231', { timeStamp: { policyOID: '1.2.3.4.5.6' } }],
    ['2/231', { timeStamp: { URLSource: 'CLIENT', clientURL: ['http://127.0.0.1:1/'] } }],
    ['1/103', { timeStamp: {}, longTermValidation: { signerRevocationDataSource: { CRL: { URLSource: 'CLIENT' } } } }],
    [
      '1/104',
      {
        timeStamp: {},
        longTermValidation: { signerRevocationDataSource: { OCSP: { URLSource: 'CLIENT', clientURL: ['http://a.example/'] } } },
      },
    ],
    [
      '2/233',
      {
        timeStamp: {},
        longTermValidation: { signerRevocationDataSource: { OCSP: { URLSource: 'CLIENT', clientURL: ['http://127.0.0.1:1/'] } } },
      },
    ],
    ['1/102', { timeStamp: {}, recovery: { interval: 0, maxAttempts: 101 } }],
    ['1/102', { timeStamp: {}, recovery: { interval: 3601, maxAttempts: 2 } }],
    ['0/0', { timeStamp: {}, recovery: { interval: 3600, maxAttempts: 100 } }],
    ['1/103', { longTermValidation: { archiveTimeStamp: true } }],
    ['0/0', { timeStamp: { digestAlg: 'SHA_512', nonce: true, credentials: { userName: 'u', password: 'p' } } }],
    ['0/0', { timeStamp: {}, recovery: {} }],
    ['0/0', { digestAlgorithm: 'SHA_512', ...levels.LTA }],
  ])('answers %s to %o', async (code, members) => {
    const answer = await sign(members);
    expect([codeOf(answer), messageOf(answer)]).toEqual([code, code === '0/0' ? 'success' : expect.any(String)]);
  });
});

describe('if no time-stamp can be obtained', () => {
  const digest = [{ id: 'd', digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: createHash('sha256').update(text).digest('base64') }];
  const newKeyOf = async (signatureActivationProtocol: string): Promise<Record<string, string>> => {
    const { body } = await call(client, 'pki/createCertificate', certificateRequest({ signatureActivationProtocol }));
    return body['keyReference'] as unknown as Record<string, string>;
  };
  const stampedBy = (server: AnsweringServer, members: object = {}): object => ({
    timeStamp: { URLSource: 'CLIENT', clientURL: [server.url] },
    ...members,
  });

  it('the one-time password is given back', async () => {
    const { reference = '' } = await newKeyOf('OTP');
    const sent = await call(client, 'pki/sendOTP', { action: 'SIGN', keyReference: reference, signerData: { digest } });
    const keyReference = { reference, password: textOf(sent.body['password']) };
    const server = await serving(() => 503);
    expect(codeOf(await sign(stampedBy(server), { keyReference }))).toBe('2/231');
    server.answering = () => Buffer.from('garbage');
    expect(codeOf(await sign(stampedBy(server), { keyReference }))).toBe('2/232');
    expect(codeOf(await sign(levels.T, { keyReference }))).toBe('0/0');
    expect(codeOf(await sign(levels.T, { keyReference }))).toBe('2/202');
  });

  it('the own authority says before the secret is looked at what it does not offer', async () => {
    const { reference } = secretOf(key);
    const answer = await sign(
      { timeStamp: { policyOID: '1.2.3.4.5.6' } },
      { keyReference: { reference, password: 'wrong, and not counted' } },
    );
    expect([codeOf(answer), messageOf(answer)]).toEqual(['2/231', expect.stringContaining('unacceptedPolicy')]);
    // What is wrong with a document comes first (contract: order of checks).
    const broken = Buffer.from('308006092a864886f70d010702a080', 'hex');
    const both = await sign(
      { timeStamp: { policyOID: '1.2.3.4.5.6' }, validateSignatures: true },
      { detached: false, documents: [contentDocument(broken)] },
    );
    expect(codeOf(both)).toBe('1/105');
  });

  it('the key of one use is not consumed', async () => {
    const keyReference = await newKeyOf('SINGLE_USE');
    const stateOf = async (): Promise<string> =>
      textOf((await call(client, 'pki/checkKey', { keyReference: { reference: keyReference['reference'] } })).body['state']);
    const server = await serving(() => 500);
    const signWith = async (members: object): Promise<string> =>
      codeOf(await call(client, 'signature/sign', { keyReference, parameters: cades(members), inputDocuments: [contentDocument(text)] }));
    expect(await signWith(stampedBy(server))).toBe('2/231');
    expect(await stateOf()).toBe('ACTIVE');
    expect(await signWith(levels.LTA)).toBe('0/0');
    expect(await stateOf()).toBe('CONSUMED');
  });

  it('attempts are as many as recovery says, each over the whole list', async () => {
    const [first, second] = [await serving(() => 503), await serving(() => 503)];
    const timeStamp = { URLSource: 'CLIENT', clientURL: [first.url, second.url] };
    expect(codeOf(await sign({ timeStamp }))).toBe('2/231');
    expect([first.requests, second.requests]).toEqual([1, 1]);
    expect(codeOf(await sign({ timeStamp, recovery: { interval: 0, maxAttempts: 3 } }))).toBe('2/231');
    expect([first.requests, second.requests]).toEqual([4, 4]);
    // The authority comes back between two attempts.
    first.answering = async (request) => {
      if (first.requests < 6) return 503;
      const answer = await fetch(description.timestampUrl ?? '', {
        method: 'POST',
        headers: { 'Content-Type': 'application/timestamp-query' },
        body: new Uint8Array(request),
      });
      return new Uint8Array(await answer.arrayBuffer());
    };
    expect(codeOf(await sign({ timeStamp, recovery: { interval: 0, maxAttempts: 5 } }))).toBe('0/0');
    expect([first.requests, second.requests]).toEqual([6, 5]);
  });
});

describe('in two steps, with a certificate from elsewhere', () => {
  let outsideRoot: ScratchAuthority;
  let issuing: ScratchAuthority;
  let person: CertificateFiles;
  let lists: AnsweringServer;
  let rootLists: AnsweringServer;

  beforeAll(async () => {
    outsideRoot = new ScratchAuthority(directory, 'Root');
    issuing = new ScratchAuthority(directory, 'Issuing', { parent: outsideRoot });
    person = issuing.issue('Person', { extendedKeyUsage: '' });
    lists = await serving(() => 503);
    rootLists = await serving(() => Buffer.from(outsideRoot.revocationList()));
  });

  const pem = ({ certificate }: Pick<CertificateFiles, 'certificate'>): string => derOf(readFileSync(certificate, 'latin1'));
  const byCrl = (server: AnsweringServer) => ({ CRL: { URLSource: 'CLIENT', clientURL: [server.url] } });
  const longTermValidation = () => ({
    signerRevocationDataSource: byCrl(lists),
    signerRevocationValueChoice: 'CRL',
    // Of the outside authority and, above it, of the quickstart's: the time-stamp's chain uses the same sources.
    authoritiesRevocationDataSource: {
      CRL: { URLSource: 'CLIENT', clientURL: [rootLists.url, `${description.publicUrl}/pki/root.crl`] },
    },
    authoritiesRevocationValueChoice: 'CRL',
    archiveTimeStamp: true,
  });
  const preSigned = async (
    members: object,
    { signer = person, chain = [issuing, outsideRoot] }: { signer?: CertificateFiles; chain?: readonly ScratchAuthority[] } = {},
  ): Promise<ApiAnswer> =>
    call(client, 'signature/remotePreSign', {
      ...{ parameters: cades(members, false), inputDocuments: [contentDocument(text)] },
      ...{ signerCertificate: pem(signer), certificateChain: chain.map(pem) },
    });
  const completed = async (prepared: ApiAnswer): Promise<ApiAnswer> => {
    const [entry] = (prepared.body['signerData'] as unknown as { digest: { id: string; dataToSign: string }[] }).digest;
    const value = signValue('sha256', Buffer.from(entry?.dataToSign ?? '', 'base64'), createPrivateKey(readFileSync(person.key)));
    return call(client, 'signature/remoteSign', {
      signatureThreadId: textOf(prepared.body['signatureThreadId']),
      signatureValues: { signatureValueMapping: [{ id: entry?.id, signatureValue: value.toString('base64') }] },
    });
  };

  it('revocation data that is missing leaves the session open; once it is there, level LTA is reached', async () => {
    const prepared = await preSigned({ timeStamp: {}, longTermValidation: longTermValidation() });
    expect([codeOf(prepared), messageOf(prepared)]).toEqual(['0/0', 'success']);
    expect(codeOf(await completed(prepared))).toBe('2/233');
    lists.answering = () => Buffer.from(issuing.revocationList());
    const answer = await completed(prepared);
    succeeds(answer);
    const cms = evidenceOf(answer);
    expect(verified(cms, false, readFileSync(outsideRoot.certificate))).toContain('successful');
    expect(countOf('0.4.0.1733.2.4', printed(cms))).toBe(1);
    expect(codeOf(await completed(prepared))).toBe('2/221');
  });

  it('a revoked certificate is 2/234', async () => {
    const prepared = await preSigned({ timeStamp: {}, longTermValidation: longTermValidation() });
    issuing.revoke(person);
    // Another address: what was got from the first one is good until its next update.
    const fresh = await serving(() => Buffer.from(issuing.revocationList()));
    const again = await preSigned({
      timeStamp: {},
      longTermValidation: { ...longTermValidation(), signerRevocationDataSource: byCrl(fresh) },
    });
    expect(codeOf(await completed(again))).toBe('2/234');
    expect(codeOf(await completed(prepared))).toBe('0/0');
  });

  it('who names no authority, and whose certificate names none, is told before anything is signed', async () => {
    expect(codeOf(await preSigned({ timeStamp: { URLSource: 'CERTIFICATE' } }))).toBe('2/231');
  });

  it.each([
    [
      'a policy that the own authority does not offer',
      '2/231',
      /unacceptedPolicy.*supported: 1\./,
      { timeStamp: { policyOID: '1.2.3.4.5.6' } },
    ],
    ['no CRL for the signer', '2/233', /no CRL is known for the signer certificate: signerRevocationDataSource/, levels.LT],
    [
      'no OCSP responder for the signer',
      '2/233',
      /no OCSP responder is known/,
      { timeStamp: {}, longTermValidation: { signerRevocationValueChoice: 'OCSP' } },
    ],
  ] as const)('who has %s is told before anything is signed', async (_, expected, words, members) => {
    const answer = await preSigned(members);
    expect([codeOf(answer), messageOf(answer)]).toEqual([expected, expect.stringMatching(words)]);
  });

  it('a server that only a certificate of the caller names is not asked, and the caller is told before anything is signed', async () => {
    const [url, stamps] = ['http://127.0.0.2:1/ocsp', ['1.2.840.113583.1.1.9.1=ASN1:SEQUENCE:stamps', '[stamps]']];
    const extensions = [`authorityInfoAccess=OCSP;URI:${url}`, ...stamps, 'version=INTEGER:1', `location=IMPLICIT:6,IA5STRING:${url}`];
    const signer = issuing.issue('Naming', { extendedKeyUsage: '', extensions });
    const notAllowed = expect.stringMatching(/callers may not name the host 127\.0\.0\.2/) as unknown;
    const status = await preSigned({ timeStamp: {}, longTermValidation: {} }, { signer });
    expect([codeOf(status), messageOf(status)]).toEqual(['2/233', notAllowed]);
    const stamped = await preSigned({ timeStamp: { URLSource: 'CERTIFICATE' } }, { signer });
    expect([codeOf(stamped), messageOf(stamped)]).toEqual(['2/231', notAllowed]);
  });

  it('a chain that does not lead up to the root is told before anything is signed at level LT', async () => {
    const answer = await preSigned({ timeStamp: {}, longTermValidation: longTermValidation() }, { chain: [issuing] });
    expect([codeOf(answer), messageOf(answer)]).toEqual(['2/233', expect.stringContaining('certificateChain')]);
    expect(codeOf(await preSigned(levels.T, { chain: [issuing] }))).toBe('0/0');
  });

  it.each([
    ['a critical extension that nobody knows', '2/234', /unknown critical extension 1\.2\.3\.4\.5/, ['1.2.3.4.5=critical,ASN1:NULL']],
    ['distribution points that cannot be read', '1/103', /unreadable/, ['crlDistributionPoints=DER:3003020101']],
    ['policies that cannot be read', '1/103', /unreadable/, ['certificatePolicies=DER:020101']],
  ] as const)('a certificate with %s is told before anything is signed above level B', async (_, expected, words, extensions) => {
    const signer = issuing.issue('Odd', { extendedKeyUsage: '', extensions });
    for (const members of [levels.T, { timeStamp: {}, longTermValidation: longTermValidation() }]) {
      const answer = await preSigned(members, { signer });
      expect([codeOf(answer), messageOf(answer)]).toEqual([expected, expect.stringMatching(words)]);
    }
    expect(codeOf(await preSigned({}, { signer }))).toBe('0/0');
  });

  it('a chain with a CA certificate that has ended, or that its names forbid, is told before anything is signed above level B', async () => {
    const past = { from: new Date(Date.now() - 3 * hourMs), until: new Date(Date.now() - 2 * hourMs) };
    for (const [options, words] of [
      [past, 'not valid after'],
      [{ extensions: ['nameConstraints=critical,permitted;dirName:allowed', '[allowed]', 'CN=Somebody'] }, 'chain of the signer'],
    ] as const) {
      const authority = new ScratchAuthority(directory, 'Middle', {
        existing: outsideRoot.issue('Middle', { isAuthority: true, extendedKeyUsage: '', ...options }),
      });
      const odd = { signer: authority.issue('Person', { extendedKeyUsage: '' }), chain: [authority, outsideRoot] };
      const answer = await preSigned(levels.T, odd);
      expect([codeOf(answer), messageOf(answer)]).toEqual(['2/234', expect.stringContaining(words)]);
      expect(codeOf(await preSigned({}, odd))).toBe('0/0');
    }
  });

  it('a time-stamp from an authority with another root counts where the tenant takes any', async () => {
    const stamper = outsideRoot.issue('Stamper', { extendedKeyUsage: 'critical,timeStamping' });
    const configuration = [
      '[tsa]',
      'default_tsa=here',
      '[here]',
      'serial={serial}',
      'default_policy=1.2.3',
      'digests=sha256',
      'signer_digest=sha256',
    ];
    const authority = await serving((request) =>
      openssl(
        [
          ...[
            'ts',
            '-reply',
            '-config',
            '{config}',
            '-queryfile',
            '{request}',
            '-signer',
            '{cert}',
            '-inkey',
            '{key}',
            '-chain',
            '{chain}',
          ],
          ...['-out', '{answer}'],
        ],
        {
          config: configuration.join('\n').replace('{serial}', 'serial'),
          ...{ serial: '01\n', request, cert: readFileSync(stamper.certificate), key: readFileSync(stamper.key) },
          chain: readFileSync(outsideRoot.certificate),
        },
        'answer',
      ),
    );
    const timeStamp = { URLSource: 'CLIENT', clientURL: [authority.url] };
    const answer = await sign({ timeStamp });
    succeeds(answer);
    expect(authority.requests).toBe(1);
    // From level LT on it is looked at whether its certificate is revoked.
    const withCrl = async (): Promise<string> => {
      const list = await serving(() => Buffer.from(outsideRoot.revocationList()));
      const authorities = { URLSource: 'CLIENT', clientURL: [list.url, `${description.publicUrl}/pki/root.crl`] };
      const byList = { authoritiesRevocationDataSource: { CRL: authorities }, authoritiesRevocationValueChoice: 'CRL' };
      return codeOf(await sign({ timeStamp, longTermValidation: byList }));
    };
    expect(await withCrl()).toBe('0/0');
    outsideRoot.revoke(stamper);
    expect(await withCrl()).toBe('2/234');
  });
});
