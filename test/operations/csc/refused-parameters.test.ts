import { describe, expect, it } from 'vitest';
import { description, send, type ClientName } from '../../support/api.ts';
import { authorizeRequest, csc, cscPath, invalid, json, newHash, oids, refusalOf, versions, type Version } from './csc-caller.ts';

const client = 'other';
/** A reference that no key has. */
const credentialID = '0'.repeat(40);
const SAD = 'A'.repeat(72);
const hash = newHash();
const [name, noText] = [{ required: true, type: 'string' }, 7] as const;

interface Parameter {
  readonly required?: boolean;
  readonly type: 'string' | 'integer' | 'boolean' | 'array';
}

interface Method {
  /** A request that is right, except that there is no such credential. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly parameters: Readonly<Record<string, Parameter>>;
}

const optional = { type: 'string' } as const;
const yes = { type: 'boolean' } as const;
const list = { required: true, type: 'array' } as const;

function methodsOf(version: Version): Readonly<Record<string, Method>> {
  const hashes = version === 'v1' ? 'hash' : 'hashes';
  const hashAlgo = version === 'v1' ? 'hashAlgo' : 'hashAlgorithmOID';
  const wanted = { certificates: optional, certInfo: yes, authInfo: yes, lang: optional, clientData: optional };
  const named = { credentialID: name, clientData: optional };
  const oid = version === 'v1' ? {} : { hashAlgorithmOID: optional };
  const secrets = version === 'v1' ? { PIN: optional, OTP: optional } : { authData: { type: 'array' } as const };
  const document = { document: 'eA==', signature_format: 'C', signAlgo: oids.ecdsaSha256 };
  return {
    info: { request: {}, parameters: { lang: optional } },
    'credentials/list': {
      request: {},
      parameters: {
        ...{ userID: optional, maxResults: { type: 'integer' }, pageToken: optional, clientData: optional },
        ...(version === 'v1' ? {} : { ...wanted, credentialInfo: yes, onlyValid: yes }),
      },
    },
    'credentials/info': { request: { credentialID }, parameters: { ...named, ...wanted } },
    'credentials/sendOTP': { request: { credentialID }, parameters: named },
    'credentials/authorize': {
      request: { ...authorizeRequest(version, credentialID, { pin: 'wrong' }, { hashes: [hash] }) },
      parameters: {
        ...named,
        ...oid,
        ...secrets,
        numSignatures: { required: true, type: 'integer' },
        [hashes]: list,
        description: optional,
      },
    },
    'credentials/extendTransaction': {
      request: { credentialID, SAD, [hashes]: [hash] },
      parameters: { ...named, ...oid, SAD: name, [hashes]: list },
    },
    'signatures/signHash': {
      request: { credentialID, SAD, [hashes]: [hash], signAlgo: oids.ecdsaSha256 },
      parameters: { ...named, SAD: name, [hashes]: list, signAlgo: name, signAlgoParams: optional, [hashAlgo]: optional },
    },
    'signatures/timestamp': {
      request: { hash, hashAlgo: oids.sha256 },
      parameters: { hash: name, hashAlgo: name, nonce: optional, clientData: optional },
    },
    ...(version === 'v1'
      ? {}
      : {
          'credentials/getChallenge': {
            request: { credentialID, authObjectID: 'OTP' },
            parameters: { ...named, authObjectID: name },
          },
          'signatures/signDoc': {
            request: { credentialID, SAD, documents: [document] },
            parameters: { ...named, SAD: name, documents: list, operationMode: optional, returnValidationInfo: yes },
          },
        }),
  };
}

const methods = versions.flatMap((version) =>
  Object.entries(methodsOf(version)).map(([method, described]) => ({ version, method, ...described })),
);

describe.each(methods)('$version/$method', ({ version, method, request, parameters }) => {
  const tried = async (changes: object): Promise<string> => refusalOf(await csc(client, version, method, { ...request, ...changes }));

  it('names a parameter that is missing or of another type, with its type', async () => {
    for (const [parameter, { required = false, type }] of Object.entries(parameters)) {
      const refused = invalid(`Missing (or invalid type) ${type} parameter ${parameter}`);
      const others = [
        type === 'string' ? noText : 'text',
        { a: 1 },
        ...(type === 'array' ? [] : [['text']]),
        ...(required ? [undefined] : []),
      ];
      for (const value of others) expect([parameter, value, await tried({ [parameter]: value })]).toEqual([parameter, value, refused]);
    }
  });

  it('takes null for a parameter that is missing, where it must be there', async () => {
    for (const [parameter, { type }] of Object.entries(parameters).filter(([, { required }]) => required)) {
      expect(await tried({ [parameter]: null })).toBe(invalid(`Missing (or invalid type) ${type} parameter ${parameter}`));
    }
  });

  it('refuses a parameter that is unknown, and names a similar one', async () => {
    expect(await tried({ zzz: 1 })).toBe(invalid('Unknown parameter zzz: unknown field'));
    for (const parameter of Object.keys(parameters)) {
      const similar = `${parameter}S`;
      expect(await tried({ [similar]: 1 })).toBe(invalid(`Unknown parameter ${similar}: unknown field; did you mean "${parameter}"?`));
    }
    const bytes = JSON.stringify({ ...request, zzz: 1 }).replace('"zzz"', '"__proto__"');
    expect(refusalOf(await send(client, { path: cscPath(version, method), headers: json }, bytes))).toBe(
      invalid('Unknown parameter __proto__: unknown field'),
    );
  });

  if ('credentialID' in parameters) {
    it('refuses a credential that is unknown', async () => {
      for (const id of [credentialID, 'a name', '', '../x', 'constructor']) {
        expect(await tried({ credentialID: id })).toBe(invalid('Invalid parameter credentialID'));
      }
    });
  }
});

describe.each(versions)('what a parameter may be, in %s', (version) => {
  const hashes = version === 'v1' ? 'hash' : 'hashes';
  const hashAlgo = version === 'v1' ? 'hashAlgo' : 'hashAlgorithmOID';
  const [authorize, extend, signHash] = ['credentials/authorize', 'credentials/extendTransaction', 'signatures/signHash'] as const;
  const badBase64 = invalid(`Invalid Base64 ${hashes} string parameter`);
  const wrongLength = invalid('Invalid digest value length');
  const [short, sha384] = [Buffer.alloc(31).toString('base64'), Buffer.alloc(48).toString('base64')];

  it.each([
    ...[authorize, extend, signHash].flatMap((method): [string, object, string][] => [
      [method, { [hashes]: [] }, invalid('Empty hash array')],
      [method, { [hashes]: ['no base64'] }, badBase64],
      [method, { [hashes]: [hash.replace('=', '')] }, badBase64],
      [method, { [hashes]: [''] }, badBase64],
      [method, { [hashes]: [hash, 7], numSignatures: 2 }, invalid(`Missing (or invalid type) string parameter ${hashes}/1`)],
      [method, { [hashes]: [short] }, wrongLength],
    ]),
    [authorize, { numSignatures: 0 }, invalid('Invalid value for parameter numSignatures')],
    [authorize, { numSignatures: -1 }, invalid('Invalid value for parameter numSignatures')],
    [authorize, { numSignatures: 1.5 }, invalid('Missing (or invalid type) integer parameter numSignatures')],
    [authorize, { numSignatures: 1, [hashes]: [hash, newHash()] }, invalid('Invalid value for parameter numSignatures')],
    [authorize, { numSignatures: 1_000_000 }, invalid('Numbers of signatures is too high')],
    [signHash, { [hashes]: [sha384] }, wrongLength],
    [signHash, { signAlgo: 'ECDSA' }, invalid('Invalid parameter signAlgo')],
    [signHash, { signAlgo: '1.2.3.4' }, invalid('Invalid parameter signAlgo')],
    [signHash, { [hashAlgo]: oids.sha1 }, invalid(`Invalid parameter ${hashAlgo}`)],
    [signHash, { [hashAlgo]: oids.sha384 }, invalid(`String parameter ${hashAlgo} contradicts with signAlgo parameter`)],
    [signHash, { signAlgo: oids.rsa }, invalid(`Missing (or invalid type) string parameter ${hashAlgo}`)],
    [signHash, { signAlgo: oids.pss }, invalid('Missing (or invalid type) string parameter signAlgoParams')],
    [signHash, { signAlgo: oids.pss, signAlgoParams: 'no base64' }, invalid('Invalid Base64 signAlgoParams string parameter')],
    [signHash, { signAlgo: oids.pss, signAlgoParams: 'MAA=' }, invalid('Invalid parameter signAlgoParams')],
    [signHash, { signAlgo: oids.pss, signAlgoParams: 'MAI=' }, invalid('Invalid parameter signAlgoParams')],
    [signHash, { signAlgoParams: 'MAA=' }, invalid('Invalid parameter signAlgoParams')],
    ['credentials/list', { userID: 'somebody' }, invalid('userID parameter MUST be null')],
    ['credentials/list', { userID: null }, '200'],
    ['credentials/list', { userID: null, maxResults: null, pageToken: null, clientData: null }, '200'],
    ['credentials/list', { anything: null }, '200'],
    ['credentials/list', { pageToken: 'nothing' }, invalid('Invalid parameter pageToken')],
    ['credentials/list', { maxResults: 0 }, invalid('Invalid parameter maxResults')],
    ['credentials/info', { certificates: 'all' }, invalid('Invalid parameter certificates')],
    ['signatures/timestamp', { hash: '' }, invalid('Empty hash parameter')],
    ['signatures/timestamp', { hash: 'no base64' }, invalid('Invalid Base64 hash string parameter')],
    ['signatures/timestamp', { hash: short }, wrongLength],
    ['signatures/timestamp', { hashAlgo: '1.2.3.4' }, invalid('Invalid parameter hashAlgo')],
    ['signatures/timestamp', { hashAlgo: oids.sha1, hash: Buffer.alloc(20).toString('base64') }, invalid('Invalid parameter hashAlgo')],
    ['signatures/timestamp', { nonce: 'xyz' }, invalid('Invalid parameter nonce')],
  ])('%s with %j: %s', async (method, changes, expected) => {
    const request = methodsOf(version)[method]?.request;
    expect(refusalOf(await csc(client, version, method, { ...request, ...changes }))).toBe(expected);
  });
});

describe('what only version 2 has', () => {
  const document = { document: 'eA==', signature_format: 'C', signAlgo: oids.ecdsaSha256 };
  const pin = { id: 'PIN', value: 'wrong' };
  it.each([
    ['credentials/authorize', { authData: [pin, pin] }, invalid('Invalid parameter authData')],
    ['credentials/authorize', { authData: [{ ...pin, id: 'FACE' }] }, invalid('Invalid parameter authData/0/id')],
    ['credentials/authorize', { hashAlgorithmOID: oids.sha384 }, invalid('Invalid digest value length')],
    ['credentials/getChallenge', { authObjectID: 'PIN' }, invalid('Invalid parameter authObjectID')],
    ['signatures/signHash', { operationMode: 'A' }, invalid('Invalid parameter operationMode')],
    ['signatures/signDoc', { documents: [] }, invalid('Empty documentDigests and documents objects')],
    [
      'signatures/signDoc',
      { documents: [{ ...document, signature_format: 'J' }] },
      invalid('Invalid parameter documents/0/signature_format'),
    ],
    [
      'signatures/signDoc',
      { documents: [{ ...document, signature_format: 7 }] },
      invalid('Missing (or invalid type) string parameter documents/0/signature_format'),
    ],
    ['signatures/signDoc', { documents: [{ ...document, document: '?' }] }, invalid('Invalid Base64 documents string parameter')],
    [
      'signatures/signDoc',
      { documents: [{ ...document, signed_envelope_property: 'Revision' }] },
      invalid('Invalid parameter signed_envelope_property'),
    ],
    [
      'signatures/signDoc',
      { documents: [document, { ...document, signAlgo: '1.2.840.10045.4.3.3' }] },
      invalid('Invalid parameter signAlgo: a request uses one algorithm for all signatures'),
    ],
    ['signatures/signDoc', { returnValidationInfo: true }, invalid('Invalid parameter returnValidationInfo')],
  ])('%s with %j: %s', async (method, changes, expected) => {
    const request = methodsOf('v2')[method]?.request;
    expect(refusalOf(await csc(client, 'v2', method, { ...request, ...changes }))).toBe(expected);
  });
});

describe('problems of HTTP have the form of the standard', () => {
  const path = cscPath('v1', 'info');
  const status = async (of: ClientName, options: { path?: string; headers?: object }, body = '{}'): Promise<string> =>
    refusalOf(await send(of, { path, ...options, headers: { ...json, ...options.headers } }, body));

  it.each([
    ['a method that is not offered', {}, cscPath('v1', 'signatures/signDoc'), '{}', '501 invalid_request'],
    ['a method that is none', {}, cscPath('v2', 'signatures/sign'), '{}', '501 invalid_request'],
    ['a version that is none', {}, `${description.cscRoot ?? ''}/v3/info`, '{}', '501 invalid_request'],
    ['malformed JSON', {}, path, '{"lang":', '400 invalid_request'],
    ['a list', {}, path, '[]', '400 invalid_request'],
    ['a body beyond the limit', { 'Transfer-Encoding': 'chunked' }, path, ' '.repeat(65 * 1024 * 1024), '413 invalid_request'],
    ['another media type', { 'Content-Type': 'text/plain' }, path, '{}', '415 invalid_request'],
  ])('%s', async (_what, headers, at, body, expected) => {
    expect(await status(client, { path: at, headers }, body)).toMatch(new RegExp(`^${expected}: .+`));
  });

  it.each(['GET', 'PUT', 'DELETE'])('the HTTP method %s', async (method) => {
    expect(refusalOf(await send(client, { path, method }))).toMatch(/^405 invalid_request: .+/);
  });

  it('a one-time password from a client with the role signature alone', async () => {
    for (const [version, method] of [
      ['v1', 'credentials/sendOTP'],
      ['v2', 'credentials/sendOTP'],
      ['v2', 'credentials/getChallenge'],
    ] as const) {
      expect(await status('signer', { path: cscPath(version, method) })).toBe('403 access_denied: this operation needs the role "keys"');
    }
    expect(await status('signer', { path: cscPath('v1', 'signatures/signHash') })).toMatch(/^400 invalid_request: .+/);
  });

  it('a client that is not registered', async () => {
    for (const version of versions) {
      for (const method of Object.keys(methodsOf(version))) {
        expect(await status('unregistered', { path: cscPath(version, method) })).toMatch(/^403 access_denied: .+/);
      }
    }
  });
});
