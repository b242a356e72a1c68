import { createPrivateKey, sign as signValue, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnsweringServer } from '../../support/answering-server.ts';
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
} from '../../support/api.ts';
import { judged, noValidator } from '../../support/judge.ts';
import { derOf } from '../../support/outside-signer.ts';
import { smallPdf } from '../../support/small-pdf.ts';
import { hourMs, ScratchAuthority, type CertificateFiles } from '../../support/scratch-authority.ts';
import { skipNote } from '../../support/skip-note.ts';

const client = 'other';
const directory = mkdtempSync(join(tmpdir(), 'signetd-revocation-'));
const servers: AnsweringServer[] = [];
let root: ScratchAuthority;
let issuing: ScratchAuthority;
/** The same authority, with no record of what it issued. */
let forgetful: ScratchAuthority;
let person: CertificateFiles;
let revoked: CertificateFiles;
let rootLists: AnsweringServer;

beforeAll(async () => {
  root = new ScratchAuthority(directory, 'Root');
  issuing = new ScratchAuthority(directory, 'Issuing', { parent: root });
  forgetful = new ScratchAuthority(directory, 'Issuing', { existing: issuing });
  person = issuing.issue('Person', { extendedKeyUsage: '' });
  revoked = issuing.issue('Revoked', { extendedKeyUsage: '' });
  issuing.revoke(revoked);
  rootLists = await serving(() => Buffer.from(root.revocationList()));
});
afterAll(() => {
  for (const server of servers) server.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function serving(answering: AnsweringServer['answering']): Promise<AnsweringServer> {
  const server = await AnsweringServer.start(answering);
  servers.push(server);
  return server;
}

const pem = ({ certificate }: Pick<CertificateFiles, 'certificate'>): string => derOf(readFileSync(certificate, 'latin1'));
const at = (...urls: string[]): object => ({ URLSource: 'CLIENT', clientURL: urls });
/** Of the outside authority and of the quickstart's: the time-stamp's chain uses the same sources. */
const authorityCertificates = (): object => ({ CRL: at(rootLists.url, `${description.publicUrl}/pki/root.crl`) });
const asked = (revocationData: object, more: object = {}, parameters: object = {}): object => ({
  XP7Signature: { XP7Format: 'PXP_7', timeStamp: {}, ...more, XP7Providers: { PXP7Parameters: { revocationData, ...parameters } } },
});
const pdf = smallPdf();

async function preSigned(
  parameters: object,
  { signer = person, documents = [contentDocument(pdf)], chain = [issuing, root] }: Partial<PreSigning> = {},
): Promise<ApiAnswer> {
  const certificates = { signerCertificate: pem(signer), certificateChain: chain.map(pem) };
  return call(client, 'signature/remotePreSign', { parameters, inputDocuments: documents, ...certificates });
}

interface PreSigning {
  readonly signer: CertificateFiles;
  readonly documents: readonly object[];
  readonly chain: readonly ScratchAuthority[];
}

type Values = readonly { readonly id: string; readonly signatureValue: string }[];

/** Values for a session. Those of ECDSA differ each time. */
function valuesFor(prepared: ApiAnswer, signer = person): Values {
  const entries = (prepared.body['signerData'] as unknown as { digest: { id: string; dataToSign: string }[] }).digest;
  const key = createPrivateKey(readFileSync(signer.key));
  return entries.map(({ id, dataToSign }) => {
    const value = signValue('sha256', Buffer.from(dataToSign, 'base64'), key);
    return { id, signatureValue: value.toString('base64') };
  });
}

async function completedWith(prepared: ApiAnswer, values: Values, headers: Record<string, string> = {}): Promise<ApiAnswer> {
  const signatureThreadId = textOf(prepared.body['signatureThreadId']);
  const signatureValues = { signatureValueMapping: values };
  return call(client, 'signature/remoteSign', { signatureThreadId, signatureValues }, headers);
}

async function completed(prepared: ApiAnswer, signer = person): Promise<ApiAnswer> {
  expect([codeOf(prepared), messageOf(prepared)]).toEqual(['0/0', 'success']);
  return completedWith(prepared, valuesFor(prepared, signer));
}

const told = (answer: ApiAnswer): [string, string] => [codeOf(answer), messageOf(answer)];
const countOf = (words: string, within: Buffer): number => within.toString('latin1').split(words).length - 1;
/** The level that a file without earlier signatures has the parts of. */
function levelIn(file: Buffer): string {
  if (countOf('/Type /DocTimeStamp', file) > 0) return 'LTA';
  return countOf('/OCSPs [', file) > 0 ? 'LT' : 'T';
}

type Status = 'good' | 'unknown' | 'revoked' | 'unavailable';
type Tolerated = 'VALID' | 'UNDETERMINED' | 'REVOKED';

describe('authorizedRevocationLevel and cancelOnError', () => {
  let responders: Record<Status, AnsweringServer>;
  beforeAll(async () => {
    const honest = await serving((request) => issuing.ocspAnswer(request));
    responders = {
      ...{ good: honest, revoked: honest },
      unknown: await serving((request) => forgetful.ocspAnswer(request)),
      unavailable: await serving(() => 503),
    };
  });

  /** What is made of each status, as contract and formats say. */
  const outcomes: Record<Status, (tolerated: Tolerated, cancels: boolean) => 'LT' | 'T' | '2/233' | '2/234'> = {
    good: () => 'LT',
    unknown: (tolerated) => (tolerated === 'VALID' ? '2/234' : 'T'),
    revoked: (tolerated) => (tolerated === 'REVOKED' ? 'LT' : '2/234'),
    unavailable: (_, cancels) => (cancels ? '2/233' : 'T'),
  };
  const cells = (['good', 'unknown', 'revoked', 'unavailable'] as const).flatMap((status) =>
    (['VALID', 'UNDETERMINED', 'REVOKED'] as const).flatMap((tolerated) =>
      [true, false].map((cancels) => [status, tolerated, cancels, outcomes[status](tolerated, cancels)] as const),
    ),
  );

  it.each(cells)('of a certificate that is %s, with %s and cancelOnError %s: %s', async (status, tolerated, cancels, outcome) => {
    const signer = status === 'revoked' ? revoked : person;
    const { url } = responders[status];
    const { host } = new URL(url);
    const revocationData = {
      ...{ authorizedRevocationLevel: tolerated, signerCertificate: { OCSP: at(url) }, authorityCertificates: authorityCertificates() },
      // True is the default.
      ...(cancels ? {} : { cancelOnError: false }),
    };
    const answer = await completed(await preSigned(asked(revocationData), { signer }), signer);
    const unknown = `OCSP responder at ${host} (CLIENT): the OCSP responder does not know the certificate`;
    const unavailable = `OCSP responder at ${host} (CLIENT): no valid answer`;
    const time = expect.stringMatching(/revoked at \d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown as string;
    const messages: Record<Status, Partial<Record<typeof outcome, string>>> = {
      good: { LT: 'success' },
      unknown: {
        T: `signed at level T: the status of the signer certificate is undetermined (${unknown})`,
        '2/234': `signer certificate: the status is undetermined: ${unknown}`,
      },
      revoked: { LT: time, '2/234': time },
      unavailable: {
        T: `signed at level T: revocation data of the signer certificate is unavailable (${unavailable})`,
        '2/233': `signer certificate: ${unavailable}`,
      },
    };
    const isMade = outcome === 'LT' || outcome === 'T';
    expect(told(answer)).toEqual([isMade ? '0/0' : outcome, messages[status][outcome]]);
    if (isMade) expect(levelIn(evidenceOf(answer))).toBe(outcome);
    if (status === 'revoked' && isMade) expect(messageOf(answer)).toMatch(/^signed at level LT: the signer certificate was revoked at 2/);
  });

  it('take a CRL that is not fresh for an undetermined status, unless it shows that the certificate was revoked', async () => {
    const past = { from: new Date(Date.now() - 3 * hourMs), until: new Date(Date.now() - 2 * hourMs) };
    const stale = await serving(() => Buffer.from(issuing.revocationList(past)));
    const signedBy = async (signer: CertificateFiles, authorizedRevocationLevel: Tolerated): Promise<[string, string]> => {
      const signerCertificate = { CRL: at(stale.url) };
      const revocationData = { authorizedRevocationLevel, signerCertificate, authorityCertificates: authorityCertificates() };
      return told(await completed(await preSigned(asked(revocationData), { signer }), signer));
    };
    expect(await signedBy(person, 'VALID')).toEqual(['2/234', expect.stringContaining('the CRL is too old')]);
    expect(await signedBy(person, 'UNDETERMINED')).toEqual([
      '0/0',
      expect.stringMatching(/^signed at level T: the status of the signer certificate is undetermined \(CRL at .*: the CRL is too old\)$/),
    ]);
    expect(await signedBy(revoked, 'UNDETERMINED')).toEqual(['2/234', expect.stringContaining('revoked at')]);
  });

  it('are about the signer certificate: one of an authority must be good, or its data is left out', async () => {
    const broken = issuing.issue('Sub', { isAuthority: true, extendedKeyUsage: '' });
    const sub = new ScratchAuthority(directory, 'Sub', { existing: broken });
    const signer = sub.issue('Below', { extendedKeyUsage: '' });
    const subResponder = await serving((request) => sub.ocspAnswer(request));
    const chain = [sub, issuing, root];
    const signedBy = async (changes: object, authorities: readonly string[]): Promise<[string, string]> => {
      const authority = { CRL: at(...authorities, `${description.publicUrl}/pki/root.crl`) };
      const revocationData = { signerCertificate: { OCSP: at(subResponder.url) }, authorityCertificates: authority, ...changes };
      return told(await completed(await preSigned(asked(revocationData), { signer, chain }), signer));
    };
    const list = await serving(() => Buffer.from(issuing.revocationList()));
    expect(await signedBy({}, [rootLists.url, list.url])).toEqual(['0/0', 'success']);
    const missing = 'authority above the signer certificate';
    expect(await signedBy({ authorizedRevocationLevel: 'REVOKED' }, [rootLists.url])).toEqual(['2/233', expect.stringContaining(missing)]);
    expect(await signedBy({ cancelOnError: false }, [rootLists.url])).toEqual([
      '0/0',
      expect.stringMatching(`^signed at level T: revocation data of the ${missing} is unavailable \\(CRL at .*\\)$`),
    ]);
    issuing.revoke(broken);
    const newer = await serving(() => Buffer.from(issuing.revocationList()));
    expect(await signedBy({ authorizedRevocationLevel: 'REVOKED', cancelOnError: false }, [rootLists.url, newer.url])).toEqual([
      '2/234',
      expect.stringContaining(`${missing}: revoked at`),
    ]);
  });

  it('leave the session open after 2/233; once the data is there, the level is reached', async () => {
    const server = await serving(() => 503);
    const revocationData = { signerCertificate: { OCSP: at(server.url) }, authorityCertificates: authorityCertificates() };
    const prepared = await preSigned(asked(revocationData, { longTermValidation: { archiveTimeStamp: true } }));
    expect(codeOf(await completed(prepared))).toBe('2/233');
    server.answering = (request) => issuing.ocspAnswer(request);
    const answer = await completed(prepared);
    expect(told(answer)).toEqual(['0/0', 'success']);
    expect(levelIn(evidenceOf(answer))).toBe('LTA');
    expect(codeOf(await completed(prepared))).toBe('2/221');
  });

  it('make no archive time-stamp over data that is incomplete, but one over data of a revoked certificate', async () => {
    const archived = { longTermValidation: { archiveTimeStamp: true } };
    const of = (status: Status): object => ({
      ...{ authorizedRevocationLevel: 'REVOKED', cancelOnError: false },
      ...{ signerCertificate: { OCSP: at(responders[status].url) }, authorityCertificates: authorityCertificates() },
    });
    const incomplete = await completed(await preSigned(asked(of('unavailable'), archived)));
    expect(told(incomplete)).toEqual(['0/0', expect.stringMatching(/^signed at level T: revocation data of the signer certificate/)]);
    expect(levelIn(evidenceOf(incomplete))).toBe('T');
    const ofRevoked = await completed(await preSigned(asked(of('revoked'), archived), { signer: revoked }), revoked);
    expect(told(ofRevoked)).toEqual(['0/0', expect.stringMatching(/^signed at level LTA: the signer certificate was revoked at/)]);
    expect(levelIn(evidenceOf(ofRevoked))).toBe('LTA');
  });

  it('give each of several documents its own level, and the message says which', async () => {
    const server = await serving((request) => issuing.ocspAnswer(request));
    const revocationData = (url: string): object => ({
      ...{ cancelOnError: false, signerCertificate: { OCSP: at(url) }, authorityCertificates: authorityCertificates() },
    });
    const [first, other] = [smallPdf({ width: 300 }), smallPdf({ width: 400 })];
    const before = await completed(await preSigned(asked(revocationData(server.url)), { documents: [contentDocument(first)] }));
    expect(told(before)).toEqual(['0/0', 'success']);
    // The first document has the data of its signer already, and the responder is gone.
    const documents = [contentDocument(evidenceOf(before), 'has "it"'), contentDocument(other, 'b'), contentDocument(pdf, 'c')];
    const prepared = await preSigned(asked(revocationData(responders.unavailable.url)), { documents });
    const answer = await completed(prepared);
    const { host } = new URL(responders.unavailable.url);
    const why = `revocation data of the signer certificate is unavailable (OCSP responder at ${host} (CLIENT): no valid answer)`;
    expect(told(answer)).toEqual([
      '0/0',
      `document "has \\"it\\"": signed at level LT: ${why}; documents "b", "c": signed at level T: ${why}`,
    ]);
    expect([1, 2].map((index) => levelIn(evidenceOf(answer, index)))).toEqual(['T', 'T']);
  });

  it('count a chain without its root as incomplete', async () => {
    const revocationData = { cancelOnError: false, signerCertificate: { OCSP: at(responders.good.url) } };
    for (const chain of [[], [issuing]])
      expect(told(await completed(await preSigned(asked(revocationData), { chain })))).toEqual([
        '0/0',
        expect.stringMatching(/^signed at level T: revocation data of the .*its issuer is unknown/),
      ]);
  });
});

describe('revocationData', () => {
  it('needs no source beforehand where data may be left out, and names the field where it may not', async () => {
    expect(told(await preSigned(asked({})))).toEqual([
      '2/233',
      expect.stringMatching(/^no CRL is known for the signer certificate: revocationData\.signerCertificate\.CRL accepts/),
    ]);
    expect(told(await completed(await preSigned(asked({ cancelOnError: false }))))).toEqual([
      '0/0',
      expect.stringMatching(/^signed at level T: revocation data of the signer certificate is unavailable/),
    ]);
  });

  it('replaces the sources of longTermValidation, for the signer and for the authorities by themselves', async () => {
    const unused = await serving(() => 503);
    const lists = await serving(() => Buffer.from(issuing.revocationList()));
    const longTermValidation = {
      ...{ signerRevocationDataSource: { CRL: at(unused.url) }, authoritiesRevocationDataSource: authorityCertificates() },
      ...{ signerRevocationValueChoice: 'CRL', authoritiesRevocationValueChoice: 'CRL' },
    };
    const answer = await completed(await preSigned(asked({ signerCertificate: { CRL: at(lists.url) } }, { longTermValidation })));
    expect(told(answer)).toEqual(['0/0', 'success']);
    expect([unused.requests, lists.requests]).toEqual([0, 1]);
  });

  const invalid = { URLSource: 'CLIENT' };
  it.each<[string, string, object]>([
    ['1/103', 'revocationData needs timeStamp', asked({}, { timeStamp: undefined })],
    ['1/103', 'URLSource CLIENT needs at least one address', asked({ signerCertificate: { CRL: invalid } })],
    ['1/103', 'URLSource CLIENT needs at least one address', asked({ authorityCertificates: { OCSP: invalid } })],
    ['1/103', 'only with URLSource CLIENT', asked({ signerCertificate: { OCSP: { clientURL: ['http://127.0.0.1/'] } } })],
    ['1/104', 'tsa.example.org', asked({ signerCertificate: { OCSP: at('http://tsa.example.org/') } })],
    ['1/102', '/revocationData/signerCertificate/OCSP/clientURL/0', asked({ signerCertificate: { OCSP: at('ftp://127.0.0.1/') } })],
    ['1/102', '/revocationData/authorizedRevocationLevel', asked({ authorizedRevocationLevel: 'ANY' })],
    ['1/102', '/revocationData', asked({ unknown: true })],
    ['1/104', 'need the format ENHANCED', asked({}, {}, { signatureFormat: 'BASIC' })],
  ])('is refused with %s: %s', async (code, words, parameters) => {
    const answer = await preSigned(parameters);
    expect(told(answer)).toEqual([code, expect.stringContaining(words)]);
  });

  it('is not looked at with another format', async () => {
    const XP7Providers = { CXP7Parameters: { detached: true }, PXP7Parameters: { revocationData: {} } };
    expect(told(await preSigned({ XP7Signature: { XP7Format: 'CXP_7', XP7Providers } }))).toEqual(['0/0', 'success']);
  });

  it('in two steps: the words are those of a repetition too', async () => {
    const prepared = await preSigned(asked({ cancelOnError: false, authorityCertificates: authorityCertificates() }));
    const headers = { 'Idempotency-Key': `revocation-${textOf(prepared.body['signatureThreadId'])}` };
    const value = valuesFor(prepared);
    const first = await completedWith(prepared, value, headers);
    expect(told(first)).toEqual(['0/0', expect.stringMatching(/^signed at level T: revocation data of the signer certificate is unavail/)]);
    expect((await completedWith(prepared, value, headers)).text).toBe(first.text);
    expect(codeOf(await completedWith(prepared, value))).toBe('2/221');
  });

  it('with a key of the service: the words are those of a repetition too', async () => {
    const key = await newKey(client);
    expect(new X509Certificate(key.certificate).infoAccess).toContain('OCSP');
    const gone = await serving(() => 503);
    const body = {
      ...{ keyReference: secretOf(key), inputDocuments: [contentDocument(pdf)] },
      parameters: asked({ cancelOnError: false, signerCertificate: { OCSP: at(gone.url) } }),
    };
    const words = /^signed at level T: revocation data of the signer certificate is unavailable \(OCSP responder at .* no valid answer\)$/;
    const first = await call(client, 'signature/sign', body, { 'Idempotency-Key': `revocation-${key.reference}` });
    expect(told(first)).toEqual(['0/0', expect.stringMatching(words)]);
    const again = await call(client, 'signature/sign', body, { 'Idempotency-Key': `revocation-${key.reference}` });
    expect(again.text).toBe(first.text);
    expect(gone.requests).toBe(1);
    expect(told(await call(client, 'signature/sign', { ...body, parameters: asked({}) }))).toEqual(['0/0', 'success']);
  });
});

describe.skipIf(noValidator !== undefined)(`independent validators${skipNote(noValidator)}`, () => {
  it('find the level that the message gives, and what was left out or tolerated', async () => {
    const honest = await serving((request) => issuing.ocspAnswer(request));
    const gone = await serving(() => 503);
    const of = ({ url }: AnsweringServer): object => ({
      ...{ authorizedRevocationLevel: 'REVOKED', cancelOnError: false },
      ...{ signerCertificate: { OCSP: at(url) }, authorityCertificates: authorityCertificates() },
    });
    const incomplete = await completed(await preSigned(asked(of(gone))));
    const ofRevoked = await completed(await preSigned(asked(of(honest)), { signer: revoked }), revoked);
    const requests = [incomplete, ofRevoked].map((answer, index) => {
      const file = join(directory, `judged-${index}.pdf`);
      writeFileSync(file, evidenceOf(answer));
      return { file, trust: [root.certificate, ...description.trustAnchors] };
    });
    const judgements = await judged(requests);
    expect(judgements.map(({ level }) => level)).toEqual(['PAdES-BASELINE-T', 'PAdES-BASELINE-LT']);
    // The signatures are sound; only those who look at the status of the certificate object.
    for (const { validators } of judgements)
      expect(validators.flatMap(({ name, verdict }) => (verdict === 'valid' || verdict === 'not-applicable' ? [] : [name]))).toEqual([
        'dss',
        'pyhanko',
      ]);
    const reasons = judgements.map(({ validators }) => validators.flatMap((one) => one.reasons).join('\n'));
    expect(reasons[0]).toContain('INDETERMINATE');
    expect(reasons[1]).toContain('REVOKED');
  });
});
