import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { CompactEncrypt } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { IdentityProviders, type GivenToken, type TokenRequest } from '../../../src/certificates/jwt/identity-providers.ts';
import { IdentityProvider } from '../../../src/config/identity-provider-config.ts';
import { parseTokenJson } from '../../../src/http/json/strict-json.ts';
import type { StateStore } from '../../../src/state/state-store.ts';
import { openSqliteStore } from '../../../src/state/threaded-store.ts';
import { recordingLog } from '../../support/silent-log.ts';
import { claims, issuer, now, ProviderServer, signingKey, tokenOf } from './provider.ts';

const server = new ProviderServer();
const key = signingKey('k1');
let store: StateStore;

beforeAll(async () => {
  store = await openSqliteStore(`${server.directory}/state.sqlite`);
});
afterEach(() => {
  server.stop();
});
afterAll(async () => {
  await store.close();
  server.remove();
});

const keySet = (...keys: readonly object[]): string => JSON.stringify({ keys });
let files = 0;
const fileKeys = (...keys: readonly object[]) => ({ file: server.file(`jwks-${(files += 1)}.json`, keySet(...keys)) });
const configured = (changes: object): IdentityProvider =>
  IdentityProvider.parse({ issuer, audience: ['signetd'], keys: fileKeys(key.jwk), ...changes });

function providers(changes: object = {}, log = recordingLog(), previous?: IdentityProviders): IdentityProviders {
  return new IdentityProviders({ idp: configured(changes) }, { store, log, parseJson: parseTokenJson }, previous);
}
async function read(
  from: IdentityProviders,
  token: string | GivenToken,
  audit: { identityToken: object | undefined } = noAudit(),
): Promise<TokenRequest> {
  const given = typeof token === 'string' ? { token } : token;
  return from.read(given, { identityProviders: ['idp'], defaultCountry: undefined }, audit as never);
}
const noAudit = (): { identityToken: object | undefined } => ({ identityToken: undefined });
const refused = async (reading: Promise<unknown>, message: RegExp, code = 'ISSUANCE_REFUSED'): Promise<void> => {
  await expect(reading).rejects.toMatchObject({ code, message: expect.stringMatching(message) as string });
};

describe('the claims', () => {
  it('become the fields that the configuration says', async () => {
    const mapping = {
      subject: {
        commonName: ['{display}', '{given_name} {family_name}'],
        country: ['DE'],
        serialNumber: ['EMP-{employee}'],
        organizationName: ['Example SA'],
        organizationUnit: ['{https://example.org/units}'],
        title: ['{/job/a~1b~0c}'],
        surName: [],
      },
      nameFields: { uid: ['{preferred_username}'], '2.5.4.17': ['{/address/postal_code}'] },
      subscriber: { phoneNumber: ['{mobile}'] },
      subjectAlternativeName: { RFC822Name: [] },
    };
    const payload = claims({
      ...{ given_name: 'Zoé', family_name: 'Martin', employee: 42, email: 'zoe@example.org', mobile: '+33612345678' },
      ...{ 'https://example.org/units': ['Achats', 'Paris'], job: { 'a/b~c': 'Directrice' }, preferred_username: 'zoe' },
      ...{ address: { country: 'FR', postal_code: '75002' } },
    });
    const { requested } = await read(providers({ claims: mapping }), await tokenOf(key, payload));
    expect(requested).toEqual({
      subject: {
        country: 'DE',
        commonName: 'Zoé Martin',
        givenName: 'Zoé',
        serialNumber: 'EMP-42',
        organizationName: 'Example SA',
        organizationUnit: ['Achats', 'Paris'],
        title: 'Directrice',
        fields: {
          nameField: [
            { identifier: 'uid', identifierType: 'NAME', value: 'zoe' },
            { identifier: '2.5.4.17', identifierType: 'OID', value: '75002' },
          ].toSorted((one, other) => Number(other.identifier < one.identifier)),
        },
      },
      attributes: { subscriber: { emailAddress: 'zoe@example.org', phoneNumber: '+33612345678' } },
    });
  });

  it('are not taken from the inherited members of objects', async () => {
    const mapping = { subject: { title: ['{constructor}', '{/address/toString}', '{__proto__}'] } };
    expect((await read(providers({ claims: mapping }), await tokenOf(key))).requested.subject.title).toBeUndefined();
  });

  it('must obey the rules of the configuration', async () => {
    const strict = { maxAgeSeconds: 60, type: 'JWT', clockToleranceSeconds: 5 };
    const sent = async (payload: object, header: object = { typ: 'JWT' }) =>
      read(providers(strict), await tokenOf(key, claims({ iat: now(), ...payload }), header));
    await expect(sent({})).resolves.toBeDefined();
    await refused(sent({ iat: undefined }), /iat/);
    await refused(sent({ iat: now() - 70 }), /iat/);
    await refused(sent({ iat: now() + 60 }), /iat/);
    await refused(sent({}, { typ: 'at+jwt' }), /typ/);
    await refused(sent({}, {}), /typ/);
    await expect(sent({ exp: now() - 2 })).resolves.toBeDefined();
    await refused(sent({ exp: now() - 10 }), /exp/);
    await refused(sent({ aud: ['a', 'b'] }), /aud/);
    await expect(sent({ aud: ['a', 'signetd'] })).resolves.toBeDefined();
  });

  it('of a tenant are from its own providers', async () => {
    const reading = providers().read({ token: await tokenOf(key) }, { identityProviders: [], defaultCountry: 'FR' }, noAudit() as never);
    await refused(reading, /use PKCS10/, 'UNSUPPORTED');
  });

  it('pass digest, issuer and identifier to the audit log, the last two only once they are verified', async () => {
    const [audit, forged] = [noAudit(), noAudit()];
    await read(providers(), await tokenOf(key, claims({ jti: 'T-1' })), audit);
    const digest = expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string;
    expect(audit.identityToken).toEqual({ digest, issuer, id: 'T-1' });
    await refused(read(providers(), await tokenOf(signingKey('k1'), claims({ jti: 'T-1' })), forged), /signature/);
    expect(forged.identityToken).toEqual({ digest });
  });
});

describe('keys in a file', () => {
  it('are read again when the file changes; a bad file leaves the last good keys', async () => {
    const [one, two, log] = [signingKey('k1'), signingKey('k2'), recordingLog()];
    const keys = fileKeys(one.jwk);
    const reader = providers({ keys }, log);
    await expect(read(reader, await tokenOf(one))).resolves.toBeDefined();
    await refused(read(reader, await tokenOf(two)), /no key for this token/);
    writeFileSync(keys.file, keySet(two.jwk));
    await expect(read(reader, await tokenOf(two))).resolves.toBeDefined();
    await refused(read(reader, await tokenOf(one)), /no key for this token/);
    writeFileSync(keys.file, '{"keys":[');
    await expect(read(reader, await tokenOf(two))).resolves.toBeDefined();
    expect(log.lines.join('\n')).toContain('using the last valid one');
  });

  it.each([
    ['is no JSON', '{"keys":'],
    ['has no keys', '{}'],
    ['has an empty list', '{"keys":[]}'],
    ['has names twice', `{"keys":[],"keys":[${JSON.stringify(key.jwk)}]}`],
    ['has a secret key alone', keySet({ kty: 'oct', k: 'AAAA', kid: 'k1' })],
    ['has a key to encrypt to alone', keySet({ ...key.jwk, use: 'enc' })],
    ['has a point beside the curve', keySet({ ...key.jwk, x: Buffer.alloc(32).toString('base64url') })],
    ['has an RSA key of 1024 bits', keySet(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' }))],
    ['has 300 keys', keySet(...Array.from({ length: 300 }, () => key.jwk))],
  ])('that %s keep the service from starting', (_what, content) => {
    expect(() => providers({ keys: { file: server.file('bad.json', content) } })).toThrow(/identityProviders\.idp\.keys/);
  });

  it('are told apart by kid and algorithm; without kid only one may fit', async () => {
    const [one, two] = [signingKey('k1'), signingKey('k2')];
    const both = providers({ keys: fileKeys(one.jwk, two.jwk) });
    await expect(read(both, await tokenOf(two))).resolves.toBeDefined();
    await refused(read(both, await tokenOf({ ...one, kid: 'k2' })), /signature/);
    await refused(read(both, await tokenOf(one, claims(), { kid: undefined })), /not exactly one key fits/);
    const alone = providers({ keys: fileKeys(one.jwk) });
    await expect(read(alone, await tokenOf(one, claims(), { kid: undefined }))).resolves.toBeDefined();
    await refused(read(providers({ keys: fileKeys(one.jwk), algorithms: ['RS256'] }), await tokenOf(one)), /algorithm/);
    await refused(read(providers({ keys: fileKeys({ ...one.jwk, alg: 'ES384' }) }), await tokenOf(one)), /no key for this token/);
  });
});

describe('keys over HTTPS', () => {
  const at = (url: string, changes: object = {}) => ({ keys: { url, certificateAuthority: server.authority.certificate, ...changes } });
  const serving =
    (...keys: readonly object[]): RequestListener =>
    (_request, response) =>
      void response.setHeader('Content-Type', 'application/json').end(keySet(...keys));

  it('are fetched once for many, and again for a key that is not known', async () => {
    const [one, two, three] = [signingKey('k1'), signingKey('k2'), signingKey('k3')];
    let published = [one.jwk];
    const url = await server.start((request, response) => {
      serving(...published)(request, response);
    });
    const reader = providers(at(url));
    const token = await tokenOf(one);
    await Promise.all(Array.from({ length: 20 }, async () => read(reader, token)));
    expect(server.requests).toBe(1);
    published = [two.jwk];
    const rotated = await tokenOf(two);
    await Promise.all(Array.from({ length: 20 }, async () => read(reader, rotated)));
    expect(server.requests).toBe(2);
    await refused(read(reader, token), /no key for this token/);
    // Strangers who name keys make no fetch within the cool-down.
    await Promise.all(
      Array.from({ length: 20 }, async () => refused(read(reader, rotated.replace(/^[^.]+/, part({ alg: 'ES256', kid: 'x' }))), /no key/)),
    );
    published = [three.jwk];
    await refused(read(reader, await tokenOf(three)), /no key for this token/);
    expect(server.requests).toBe(2);
  });

  it('stay in use while the provider cannot be reached, and over a reload', async () => {
    const url = await server.start(serving(key.jwk));
    const log = recordingLog();
    const reader = providers(at(url, { freshSeconds: 0.001 }), log);
    const token = await tokenOf(key);
    await read(reader, token);
    server.stop();
    const saidAfterReading = async (): Promise<string> => {
      await read(reader, token);
      return log.lines.join('\n');
    };
    await expect.poll(saidAfterReading).toContain('cannot fetch');
    await read(reader, token);
    const reloaded = providers(at(url, { freshSeconds: 0.001 }), log, reader);
    await expect(read(reloaded, token)).resolves.toBeDefined();
    await refused(read(providers(at(url, { freshSeconds: 5 }), log, reader), token), /are not available at present/);
  });

  it.each<[string, RequestListener]>([
    ['redirects', (_request, response) => void response.writeHead(302, { Location: 'https://localhost/' }).end()],
    ['fails', (_request, response) => void response.writeHead(500).end(keySet(key.jwk))],
    ['answers what is no key set', (_request, response) => void response.end('<html>')],
    ['answers more than the limit', (_request, response) => void response.end(`${' '.repeat(70_000)}${keySet(key.jwk)}`)],
    ['says nothing', () => undefined],
  ])('are not to be had from a server that %s', async (_what, listener) => {
    const log = recordingLog();
    const reader = providers(at(await server.start(listener), { timeoutSeconds: 1 }), log);
    await refused(read(reader, await tokenOf(key)), /are not available at present/);
    // The next fetch waits: a server in trouble is not asked for each request.
    await refused(read(reader, await tokenOf(key)), /are not available at present/);
    expect(server.requests).toBe(1);
    expect(log.lines.join('\n')).not.toContain('eyJ');
  });

  it('are not accepted from a server with an untrusted certificate', async () => {
    const url = await server.start(serving(key.jwk));
    await refused(read(providers({ keys: { url } }), await tokenOf(key)), /are not available at present/);
    const byAddress = url.replace('localhost', '127.0.0.1');
    await refused(read(providers(at(byAddress)), await tokenOf(key)), /are not available at present/);
    expect(server.requests).toBe(0);
  });

  it('are never those that a token names: jku and x5u are not asked', async () => {
    const attacker = signingKey('k1');
    const url = await server.start(serving(attacker.jwk));
    for (const header of [{ jku: url }, { x5u: url }, { jku: url, kid: undefined }, { jwk: attacker.jwk }, { x5c: ['MIIB'] }]) {
      await refused(read(providers(), await tokenOf(attacker, claims(), header)), /signature/);
      await expect(read(providers(), await tokenOf(key, claims(), header))).resolves.toBeDefined();
    }
    expect(server.requests).toBe(0);
  });
});

describe('an encrypted token', () => {
  const [rsa, ec, x25519] = [
    generateKeyPairSync('rsa', { modulusLength: 2048 }),
    generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    generateKeyPairSync('x25519'),
  ];
  const pems = (): string[] =>
    [rsa, ec, x25519].map(
      ({ privateKey }, index) => `file:${server.file(`key${index}.pem`, String(privateKey.export({ type: 'pkcs8', format: 'pem' })))}`,
    );
  const encrypted = async (inner: string, alg: string, pair: typeof rsa, header: object = {}): Promise<string> =>
    new CompactEncrypt(Buffer.from(inner)).setProtectedHeader({ alg, enc: 'A256GCM', cty: 'JWT', ...header }).encrypt(pair.publicKey);

  it.each([
    ['RSA-OAEP-256', rsa],
    ['RSA-OAEP', rsa],
    ['ECDH-ES', ec],
    ['ECDH-ES+A256KW', ec],
    ['ECDH-ES+A128KW', x25519],
  ])('is opened by the key that it is for: %s', async (alg, pair) => {
    const reader = providers({ decryptionKeys: pems() });
    const token = await encrypted(await tokenOf(key), alg, pair);
    expect((await read(reader, token)).requested.subject.commonName).toBe('Zoé Martin');
    await refused(read(reader, { token, password: 'pass' }), /leave the password out/, 'FIELDS_INCONSISTENT');
    await refused(read(providers(), token), /not configured/);
  });

  it('must contain one signed token', async () => {
    const reader = providers({ decryptionKeys: pems() });
    const inner = await tokenOf(key);
    for (const content of [
      JSON.stringify(claims()),
      await encrypted(inner, 'RSA-OAEP-256', rsa),
      `${part({ alg: 'none' })}.${part(claims())}.`,
    ]) {
      await refused(read(reader, await encrypted(content, 'RSA-OAEP-256', rsa)), /does not contain a signed token|algorithm/);
    }
    await refused(read(reader, await encrypted('a.b.c', 'RSA-OAEP-256', rsa)), /not a JSON Web Token/, 'FIELD_INVALID');
  });

  it('must not be changed, compressed, or encrypted for somebody else', async () => {
    const reader = providers({ decryptionKeys: pems() });
    const token = await encrypted(await tokenOf(key), 'RSA-OAEP-256', rsa);
    const parts = token.split('.');
    for (const index of [1, 2, 3, 4]) {
      const changed = parts.map((text, place) => (place === index ? `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}` : text));
      await refused(read(reader, changed.join('.')), /not encrypted to a key of this service/);
    }
    const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
    await refused(read(reader, await encrypted('x', 'RSA-OAEP-256', stranger)), /not encrypted to a key of this service/);
    const headerOf = (header: object): string => [part(header), ...parts.slice(1)].join('.');
    await refused(read(reader, headerOf({ alg: 'RSA-OAEP-256', enc: 'A256GCM', zip: 'DEF' })), /compressed/);
    await refused(read(reader, headerOf({ alg: 'RSA-OAEP-256', enc: 'A256GCM', crit: ['x'] })), /crit/);
    await refused(read(reader, headerOf({ alg: 'RSA1_5', enc: 'A256GCM' })), /not configured/);
    await refused(read(reader, headerOf({ alg: 'dir', enc: 'A256GCM' })), /not configured/);
    await refused(read(reader, headerOf({ alg: 'RSA-OAEP-256', enc: 'A1' })), /enc/);
  });

  it('with a password is accepted if the provider may send such tokens', async () => {
    const inner = await tokenOf(key);
    const token = await new CompactEncrypt(Buffer.from(inner))
      .setProtectedHeader({ alg: 'PBES2-HS512+A256KW', enc: 'A256CBC-HS512' })
      .setKeyManagementParameters({ p2c: 5000 })
      .encrypt(Buffer.from('mot de passe'));
    await expect(read(providers(), { token, password: 'mot de passe' })).resolves.toBeDefined();
    await refused(read(providers({ passwordIterationsMax: 0 }), { token, password: 'mot de passe' }), /which is not allowed/);
    await refused(read(providers({ passwordIterationsMax: 4999 }), { token, password: 'mot de passe' }), /more PBKDF2 iterations/);
  });

  it('is not opened with something that is not a key', () => {
    const file = `file:${server.file('no.pem', 'nothing')}`;
    expect(() => providers({ decryptionKeys: [file] })).toThrow(/identityProviders\.idp\.decryptionKeys: .*not a private key/);
    const signing = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
    expect(() => providers({ decryptionKeys: [`file:${server.file('ed.pem', String(signing))}`] })).toThrow(/ed25519/);
  });
});

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
