import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { call, certificateRequest, description, send, subject, type ApiAnswer } from '../../support/api.ts';
import { openssl } from '../../support/openssl.ts';
import { pdfSignatures } from '../../support/pdf-judges.ts';
import { smallPdf } from '../../support/small-pdf.ts';

/*
 * Requests as the specification's samples have them (1.0.4.0 and 2.0.0.2, clause 11), whose members and values are sent as they are. Replaced are
 * the credential, its secrets, activation data, and the second hash: that of the samples has 44 octets, more than SHA-256 gives.
 */
const hashes = ['sTOgwOm+474gFj0q0x1iSNspKqbcse4IeiqlDg/HWuI=', 'HZQzZmMAIWekfGH0/ZKW1nsdt0xg3H6bZYztgsMTLw0='] as const;
const sha256 = '2.16.840.1.101.3.4.2.1';
const rsaEncryption = '1.2.840.113549.1.1.1';
const clientData = '12345678';
/** The samples have a token of OAuth. The service does not look at it. */
const bearer = 'Bearer 4/CKN69L8gdSYp5_pwH3XlFQZ3ndFhkXf9P2_TiHRG-bA';

type Version = 'v1' | 'v2';

interface Credential {
  readonly credentialID: string;
  readonly pin: string;
  readonly certificate: Buffer;
}

const email = 'samples@csc.example';
const Created = z.object({ keyReference: z.object({ reference: z.string(), password: z.string() }), certificate: z.base64() });

async function newCredential(more: object = {}): Promise<Credential> {
  const PKCS10 = { attributes: { subscriber: { emailAddress: email } }, subject };
  const { body } = await call('app', 'pki/createCertificate', certificateRequest({ PKCS10, ...more }));
  const { keyReference, certificate } = Created.parse(body);
  return { credentialID: keyReference.reference, pin: keyReference.password, certificate: Buffer.from(certificate, 'base64') };
}

let credential: Credential;
beforeAll(async () => {
  credential = await newCredential();
});

async function csc(version: Version, method: string, request: object): Promise<ApiAnswer> {
  const headers = { 'Content-Type': 'application/json', Authorization: bearer };
  return send('app', { path: `${description.cscRoot ?? ''}/${version}/${method}`, headers }, JSON.stringify(request));
}

/** The body of an answer with the status of the samples. */
function bodyOf({ status, headers, text, body }: ApiAnswer): unknown {
  expect(status, text).toBe(200);
  expect(headers['content-type']).toMatch(/^application\/json/);
  return body;
}

const Oid = z.string().regex(/^\d+(?:\.\d+)+$/);
const Time = z.string().regex(/^\d{14}Z$/);
const Key = z.strictObject({ status: z.enum(['enabled', 'disabled']), algo: z.array(Oid).min(1), len: z.int() });
const CertificateFields = z.strictObject({
  ...{ status: z.enum(['valid', 'expired', 'revoked', 'suspended']), certificates: z.array(z.base64()).min(2) },
  ...{ issuerDN: z.string(), serialNumber: z.string(), subjectDN: z.string(), validFrom: Time, validTo: Time },
});
const texts = { label: z.string(), description: z.string() };
const Presence = z.enum(['true', 'false', 'optional']);
const credentialFields = { key: Key, cert: CertificateFields, SCAL: z.enum(['1', '2']), multisign: z.int(), lang: z.string() };
const CredentialV1 = z.strictObject({
  ...credentialFields,
  PIN: z.strictObject({ presence: Presence, format: z.enum(['A', 'N']), ...texts }),
  OTP: z.strictObject({
    ...{ presence: Presence, type: z.enum(['offline', 'online']), format: z.enum(['A', 'N']), ...texts },
    ...{ ID: z.string(), provider: z.string() },
  }),
  authMode: z.enum(['implicit', 'explicit', 'oauth2code']),
});
const AuthObject = z.strictObject({ type: z.string(), id: z.string(), format: z.enum(['A', 'N']), ...texts });
const credentialV2 = {
  ...credentialFields,
  auth: z.strictObject({ mode: z.enum(['explicit', 'oauth2code']), expression: z.string(), objects: z.array(AuthObject).min(1) }),
};
const service = {
  ...{ specs: z.string(), name: z.string(), logo: z.url(), region: z.string().length(2), lang: z.string() },
  ...{ description: z.string(), authType: z.array(z.string()).min(1), methods: z.array(z.string()).min(1) },
};
const ListV1 = z.strictObject({ credentialIDs: z.array(z.string()).min(1), nextPageToken: z.string().optional() });
const ListV2 = z.strictObject({
  ...ListV1.shape,
  credentialInfos: z.array(z.strictObject({ credentialID: z.string(), ...credentialV2 })).min(1),
});
const Timestamp = z.strictObject({ timestamp: z.base64() });
const InfoV2 = z.strictObject({
  ...service,
  asynchronousOperationMode: z.boolean(),
  validationInfo: z.boolean(),
  signAlgorithms: z.strictObject({ algos: z.array(Oid).min(1) }),
  signature_formats: z.strictObject({ formats: z.array(z.string()), envelope_properties: z.array(z.array(z.string())) }),
  conformance_levels: z.array(z.string()).min(1),
});

const stamped = { hash: hashes[0], hashAlgo: sha256, clientData };
const fullInfo = { certificates: 'chain', certInfo: true, authInfo: true };
const samples: readonly (readonly [version: Version, method: string, request: object, answer: z.ZodType])[] = [
  ['v1', 'info', {}, z.strictObject(service)],
  ['v2', 'info', {}, InfoV2],
  ['v1', 'credentials/list', { maxResults: 10 }, ListV1],
  ['v2', 'credentials/list', { credentialInfo: true, ...fullInfo }, ListV2],
  ['v1', 'signatures/timestamp', stamped, Timestamp],
  ['v1', 'signatures/timestamp', { ...stamped, nonce: '12345678' }, Timestamp],
  ['v2', 'signatures/timestamp', stamped, Timestamp],
  ['v2', 'signatures/timestamp', { ...stamped, nonce: '12345678' }, Timestamp],
];

describe("the specification's sample requests get the answers of the samples", () => {
  it.each(samples)('%s %s %j', async (version, method, request, answer) => {
    const body = bodyOf(await csc(version, method, request));
    expect(answer.safeParse(body).error?.issues ?? []).toEqual([]);
    if (answer === Timestamp) expectStamp(Timestamp.parse(body).timestamp, request);
  });

  it.each([
    ['v1', CredentialV1],
    ['v2', z.strictObject(credentialV2)],
  ] as const)('%s credentials/info', async (version, answer) => {
    const body = bodyOf(await csc(version, 'credentials/info', { credentialID: credential.credentialID, ...fullInfo }));
    expect(answer.safeParse(body).error?.issues ?? []).toEqual([]);
    expect(answer.parse(body).cert.certificates[0]).toBe(credential.certificate.toString('base64'));
  });
});

/** OpenSSL finds the hash in the token, and the nonce where the request has one. */
function expectStamp(timestamp: string, request: object): void {
  const token = Buffer.from(timestamp, 'base64');
  const digest = Buffer.from(hashes[0], 'base64').toString('hex');
  const root = description.trustAnchors.at(-1) ?? '';
  expect(openssl(['ts', '-verify', '-digest', digest, '-in', '{token}', '-token_in', '-CAfile', root], { token })).toContain(
    'Verification: OK',
  );
  const text = openssl(['ts', '-reply', '-in', '{token}', '-token_in', '-token_out', '-text'], { token });
  if ('nonce' in request) expect(/^Nonce: (.*)$/m.exec(text)?.[1]).toBe('0x12345678');
}

/** The samples of one version from the one-time password to the signatures. */
interface Transaction {
  readonly challenge: readonly [method: string, parameters: object];
  readonly authorisation: (secrets: { readonly pin: string; readonly otp?: string }) => object;
  readonly hashes: object;
  readonly extension: object;
}

const transactions: Readonly<Record<Version, Transaction>> = {
  v1: {
    challenge: ['credentials/sendOTP', { clientData }],
    authorisation: ({ pin, otp }) => ({ numSignatures: 2, hash: hashes, PIN: pin, OTP: otp, clientData }),
    hashes: { hash: hashes, hashAlgo: sha256 },
    extension: { hash: hashes },
  },
  v2: {
    challenge: ['credentials/getChallenge', { authObjectID: 'OTP', clientData }],
    authorisation: ({ pin, otp }) => ({
      ...{ numSignatures: 2, hashes, hashAlgorithmOID: sha256, clientData },
      authData: [{ id: 'PIN', value: pin }, ...(otp === undefined ? [] : [{ id: 'OTP', value: otp }])],
    }),
    hashes: { hashes, hashAlgorithmOID: sha256 },
    extension: { hashes, hashAlgorithmOID: sha256 },
  },
};

const Authorised = z.strictObject({ SAD: z.string().min(1), expiresIn: z.int().positive() });
const Signed = z.strictObject({ signatures: z.array(z.base64()) });

describe.each(['v1', 'v2'] as const)('%s: the samples of a transaction', (version) => {
  const { challenge, authorisation, hashes: asked, extension } = transactions[version];
  const authorise = async ({ credentialID, pin }: Credential, otp?: string, more: object = {}): Promise<ApiAnswer> =>
    csc(version, 'credentials/authorize', { credentialID, ...authorisation(otp === undefined ? { pin } : { pin, otp }), ...more });

  it('a PIN and a one-time password authorise two hashes, which are exchanged and signed', async () => {
    const { credentialID, certificate } = credential;
    const [method, parameters] = challenge;
    const otp = await sentOtp(version, method, { credentialID, ...parameters });
    const first = Authorised.parse(bodyOf(await authorise(credential, otp)));
    const extended = { credentialID, ...extension, SAD: first.SAD, clientData };
    const second = Authorised.parse(bodyOf(await csc(version, 'credentials/extendTransaction', extended)));
    expect(second.SAD).not.toBe(first.SAD);
    const toSign = { credentialID, SAD: second.SAD, ...asked, signAlgo: rsaEncryption, clientData };
    const { signatures } = Signed.parse(bodyOf(await csc(version, 'signatures/signHash', toSign)));
    expect(signatures.map((signature, index) => verdictOf(signature, hashes[index] ?? '', certificate))).toEqual([true, true]);
  });

  it('the one-time password of a sample that was not sent is refused', async () => {
    const { status, body } = await authorise(credential, '738496');
    expect([status, body['error']]).toEqual([400, version === 'v1' ? 'invalid_otp' : 'invalid_authentication_data']);
  });

  it('clientData names the transaction of a key that is bound to one', async () => {
    const bound = await newCredential({ transactionId: clientData });
    const wrong = [400, version === 'v1' ? 'invalid_pin' : 'invalid_authentication_data'];
    for (const more of [{ clientData: undefined }, { clientData: '87654321' }]) {
      const { status, body } = await authorise(bound, undefined, more);
      expect([status, body['error']]).toEqual(wrong);
    }
    Authorised.parse(bodyOf(await authorise(bound)));
  });

  it('clientData is not used for a key that is bound to no transaction', async () => {
    for (const more of [{ clientData: undefined }, { clientData: '' }, { clientData: '87654321' }])
      Authorised.parse(bodyOf(await authorise(credential, undefined, more)));
  });
});

describe('v2 signatures/signDoc', () => {
  const SignedDocuments = z.strictObject({ DocumentWithSignature: z.array(z.base64()) });

  const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64');

  async function signed(documents: readonly { readonly document: Buffer; readonly [member: string]: unknown }[]) {
    const { credentialID, pin } = credential;
    const digests = documents.map(({ document }) => digestOf(document));
    const authorisation = { credentialID, numSignatures: digests.length, hashes: digests, hashAlgorithmOID: sha256 };
    const authorised = await csc('v2', 'credentials/authorize', { ...authorisation, authData: [{ id: 'PIN', value: pin }] });
    const { SAD } = Authorised.parse(bodyOf(authorised));
    const asked = documents.map((one) => ({ signAlgo: rsaEncryption, ...one, document: one.document.toString('base64') }));
    return bodyOf(await csc('v2', 'signatures/signDoc', { credentialID, SAD, documents: asked, clientData }));
  }

  const cadesOf = (cms: Buffer, more: readonly string[] = []): string => {
    const root = description.trustAnchors[0] ?? '';
    const verify = ['cms', '-verify', '-cades', '-binary', '-inform', 'DER', '-in', '{cms}', '-CAfile', root, '-purpose', 'any', ...more];
    return openssl(verify, { cms, content: Buffer.from('a document') });
  };

  it('signs a PDF at level T and content at level B in one request, the hash of which is not named', async () => {
    const answer = await signed([
      { document: smallPdf(), signature_format: 'P', conformance_level: 'AdES-B-T' },
      { document: Buffer.from('a document'), signature_format: 'C', conformance_level: 'AdES-B-B', signed_envelope_property: 'Attached' },
    ]);
    const [pdf, cms] = SignedDocuments.parse(answer).DocumentWithSignature.map((text) => Buffer.from(text, 'base64'));
    expect(pdfSignatures(pdf ?? Buffer.alloc(0))).toMatchObject([{ validation: 'Signature is Valid.', coversAll: true }]);
    expect(cadesOf(cms ?? Buffer.alloc(0))).toBe('CAdES Verification successful\na document');
  });

  it('answers detached signatures apart, both lists in the order of the request', async () => {
    const xml = (name: string): Buffer => Buffer.from(`<${name}>1</${name}>`);
    const detached = { signature_format: 'X', signed_envelope_property: 'Detached' };
    const answer = await signed([
      { document: xml('first'), ...detached },
      { document: xml('second'), signature_format: 'X' },
      { document: Buffer.from('a document'), signature_format: 'C', signed_envelope_property: 'Detached' },
      { document: xml('fourth'), ...detached },
      { document: xml('fifth'), signature_format: 'X', conformance_level: 'Ades-B-T' },
    ]);
    const Both = z.strictObject({ DocumentWithSignature: z.array(z.base64()), SignatureObject: z.array(z.base64()) });
    const { DocumentWithSignature, SignatureObject } = Both.parse(answer);
    const decoded = (list: readonly string[]): string[] => list.map((text) => Buffer.from(text, 'base64').toString('latin1'));
    const [second = '', fifth = '', ...noOther] = decoded(DocumentWithSignature);
    expect([second.includes('<second>'), fifth.includes('<fifth>'), fifth.includes('SignatureTimeStamp'), noOther]).toEqual([
      true,
      true,
      true,
      [],
    ]);
    const [first = '', , fourth = '', ...no] = decoded(SignatureObject);
    const covers = (text: string, name: string): boolean => text.includes(digestOf(xml(name)));
    expect([covers(first, 'first'), covers(fourth, 'fourth'), no]).toEqual([true, true, []]);
    expect(cadesOf(Buffer.from(SignatureObject[1] ?? '', 'base64'), ['-content', '{content}'])).toContain('Verification successful');
  });

  it('refuses documents with two algorithms', async () => {
    const { credentialID, pin } = credential;
    const contents = [Buffer.from('one'), Buffer.from('two')];
    const digests = contents.map(digestOf);
    const authorised = await csc('v2', 'credentials/authorize', {
      credentialID,
      numSignatures: 2,
      hashes: digests,
      authData: [{ id: 'PIN', value: pin }],
    });
    const { SAD } = Authorised.parse(bodyOf(authorised));
    const signAlgos = ['1.2.840.113549.1.1.11', '1.2.840.113549.1.1.12'];
    const documents = contents.map((content, index) => ({
      document: content.toString('base64'),
      signature_format: 'C',
      signAlgo: signAlgos[index],
    }));
    const { status, body } = await csc('v2', 'signatures/signDoc', { credentialID, SAD, documents });
    expect([status, body]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'Invalid parameter signAlgo: a request uses one algorithm for all signatures' },
    ]);
  });
});

/** Whether OpenSSL verifies a signature of RSASSA-PKCS1-v1_5 over a hash. */
function verdictOf(signature: string, hash: string, certificate: Buffer): boolean {
  const key = openssl(['x509', '-inform', 'DER', '-in', '{certificate}', '-noout', '-pubkey'], { certificate });
  const files = { key, signature: Buffer.from(signature, 'base64'), hash: Buffer.from(hash, 'base64') };
  const options = ['-verify', '-pubin', '-inkey', '{key}', '-sigfile', '{signature}', '-in', '{hash}', '-pkeyopt', 'digest:sha256'];
  return openssl(['pkeyutl', ...options], files).includes('Signature Verified Successfully');
}

/** Has a one-time password sent by a method, and returns it from the message. */
async function sentOtp(version: Version, method: string, request: object): Promise<string> {
  const before = new Set(messageFiles());
  const { status, text } = await csc(version, method, request);
  expect([status, text]).toEqual([204, '']);
  return vi.waitFor(
    () => {
      const otps = messageFiles()
        .filter((file) => !before.has(file))
        .map((file) => z.object({ to: z.string(), text: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8'))))
        .flatMap((message) => (message.to === email ? [/\b\d{8}\b/.exec(message.text)?.[0] ?? message.text] : []));
      if (otps[0] === undefined) throw new Error('no message has come');
      return otps[0];
    },
    { timeout: 60_000 },
  );
}

function messageFiles(): string[] {
  const outbox = description.outboxDirectory ?? '';
  return readdirSync(outbox)
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(outbox, name));
}
