import { X509Certificate, createPrivateKey, createPublicKey, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CompactEncrypt, CompactSign, SignJWT, exportJWK, type JWTPayload } from 'jose';
import { describe, expect, it } from 'vitest';
import { call, certificateRequest, codeOf, description, messageOf, textOf, type ApiAnswer, type ClientName } from '../support/api.ts';

const provider = description.identityProvider;
if (provider === undefined) throw new Error('the quickstart has an identity provider');
const { issuer, audience, keyId: kid, algorithm: alg } = provider;
const signingKey = createPrivateKey(readFileSync(provider.signingKey));
const now = (): number => Math.floor(Date.now() / 1000);

const person = {
  sub: 'S-4711',
  name: 'Zoé Martin',
  given_name: 'Zoé',
  family_name: 'Martin',
  email: 'zoe@example.org',
  phone_number: '+33612345678',
  address: { country: 'BE' },
};
const claims = (changes: Record<string, unknown> = {}): JWTPayload =>
  JSON.parse(JSON.stringify({ iss: issuer, aud: audience, iat: now(), exp: now() + 300, ...person, ...changes })) as JWTPayload;
const signed = async (payload: JWTPayload, header: Record<string, unknown> = {}): Promise<string> =>
  new SignJWT(payload).setProtectedHeader({ alg, kid, typ: 'JWT', ...header }).sign(signingKey);
const create = async (token: unknown, more: object = {}, client: ClientName = 'other', headers = {}): Promise<ApiAnswer> =>
  call(client, 'pki/createCertificate', certificateRequest({ PKCS10: undefined, JWT: { token, ...more } }), headers);
const outcome = async (token: string, more: object = {}): Promise<[string, string]> => {
  const answer = await create(token, more);
  return [codeOf(answer), messageOf(answer)];
};
const at = '/certificationRequestInfo/JWT/token: ';

describe('createCertificate with a JWT', () => {
  it('takes the subject and the subscriber from the claims', async () => {
    const { body } = await create(await signed(claims()));
    expect(body['name']).toBe('CN=Zoé Martin,givenName=Zoé,sn=Martin,serialNumber=S-4711,C=BE');
    const certificate = new X509Certificate(Buffer.from(textOf(body['certificate']), 'base64'));
    expect(certificate.subjectAltName).toBe('email:zoe@example.org');
    const reference = textOf(body['keyReference']?.['reference']);
    const sent = await call('other', 'pki/sendMessage', { message: 'a message', keyReferenceId: reference });
    expect(codeOf(sent)).toBe('0/0');
  });

  it.each([
    ['given and family name', { name: undefined }, 'CN=Zoé Martin,'],
    ['the country of the profile', { address: undefined }, ',C=FR'],
    ['no serial number', { sub: undefined }, 'CN=Zoé Martin,givenName=Zoé,sn=Martin,C=BE'],
    ['a name that looks like structure', { name: 'x", CN=y + #0c0161' }, 'CN=x\\"\\, CN=y \\+ #0c0161,'],
  ])('makes a certificate with %s', async (_what, changes, name) => {
    expect(textOf((await create(await signed(claims(changes)))).body['name'])).toContain(name);
  });

  it.each([
    ['no end', { exp: undefined }, 'the token has expired, or has no expiry time (exp)'],
    ['an end in the past', { exp: now() - 5 }, 'the token has expired, or has no expiry time (exp)'],
    ['an end as text', { exp: '2100' }, 'the token has expired, or has no expiry time (exp)'],
    ['a beginning that lies ahead', { nbf: now() + 300 }, 'the token is not yet valid (nbf)'],
    ['an issue that lies ahead', { iat: now() + 300 }, 'the time of issue (iat) of the token is missing, in the future, or too long ago'],
    ['another audience', { aud: 'somebody else' }, 'the token is for another audience (aud)'],
    ['no audience', { aud: undefined }, 'the token is for another audience (aud)'],
    ['another issuer', { iss: `${issuer}/` }, 'the issuer (iss) of the token is not an identity provider of this tenant'],
    ['no issuer', { iss: undefined }, 'the issuer (iss) of the token is not an identity provider of this tenant'],
    ['a list of issuers', { iss: [issuer] }, 'the issuer (iss) of the token is not an identity provider of this tenant'],
  ])('refuses a token with %s', async (_what, changes, message) => {
    expect(await outcome(await signed(claims(changes)))).toEqual(['2/213', at + message]);
  });

  it.each([
    ['no name', { name: undefined, given_name: undefined }, /subject\.commonName \(from \{name\} or \{given_name\} \{family_name\}\)/],
    ['a name that is a list', { name: ['a'] }, /the claim name is neither a string nor an integer/],
    ['a name of 65 characters', { name: 'x'.repeat(65) }, /subject\.commonName .*64/],
    ['a name with NUL', { name: 'a\u0000b' }, /subject\.commonName/],
    ['a name that turns the order of letters', { name: 'a\u202eb' }, /subject\.commonName/],
    ['a country that is none', { address: { country: 'France' } }, /subject\.country/],
    ['an address that is none', { email: 'a@b@c' }, /not an e-mail address/],
    ['an address that nobody verified', { email_verified: false }, /the claim email is not verified/],
    ['a telephone number of another form', { phone_number: '0612345678' }, /phoneNumber/],
    ['an identifier that no serialNumber can be', { sub: 'auth0|é' }, /subject\.serialNumber \(from \{sub\}\)/],
  ])('refuses a token that gives %s', async (_what, changes, message) => {
    const [code, text] = await outcome(await signed(claims(changes)));
    expect(code).toBe('2/213');
    expect(text).toMatch(message);
    expect(text.startsWith(at)).toBe(true);
  });

  it.each([
    ['nothing', ''],
    ['two parts', 'a.b'],
    ['six parts', 'a.b.c.d.e.f'],
    ['JSON', '{"protected":"","payload":"","signature":""}'],
    ['a header that is no JSON', 'YWJj.e30.AAAA'],
    ['a header that is a list', 'W10.e30.AAAA'],
    ['a header without alg', 'e30.e30.AAAA'],
    ['claims that are no JSON', `${part({ alg, kid })}.YWJj.AAAA`],
    ['padding', `${part({ alg, kid })}=.e30.AAAA`],
    ['alg twice', `${Buffer.from('{"alg":"RS256","alg":"none"}').toString('base64url')}.e30.AAAA`],
    ['thirty-three thousand characters', `${part({ alg, kid })}.${'A'.repeat(33_000)}.AAAA`],
    ['a million characters', 'A'.repeat(1_000_000)],
    ['a number', 5],
  ])('answers 1/102 to %s', async (_what, token) => {
    const answer = await create(token);
    expect([codeOf(answer), messageOf(answer).startsWith('/certificationRequestInfo/JWT')]).toEqual(['1/102', true]);
  });

  it('answers 1/102 to claims with one name twice, although they are signed', async () => {
    const payload = JSON.stringify(claims()).replace('{', '{"name":"Somebody Else",');
    const token = await new CompactSign(Buffer.from(payload)).setProtectedHeader({ alg, kid }).sign(signingKey);
    expect((await outcome(token))[0]).toBe('1/102');
  });

  it('takes a password for an encrypted token alone', async () => {
    const answer = await create(await signed(claims()), { password: 'pass' });
    expect([codeOf(answer), messageOf(answer)]).toEqual([
      '1/103',
      '/certificationRequestInfo/JWT/password: the token is not encrypted: leave the password out',
    ]);
  });

  it('repeats its answer for an Idempotency-Key', async () => {
    const [token, headers] = [await signed(claims()), { 'Idempotency-Key': randomUUID() }];
    const first = await create(token, {}, 'other', headers);
    expect(codeOf(first)).toBe('0/0');
    expect((await create(token, {}, 'other', headers)).text).toBe(first.text);
  });
});

describe('a forged token', () => {
  const refused = async (token: string): Promise<void> => {
    expect((await outcome(token))[0]).toBe('2/213');
  };

  it('is refused without a signature', async () => {
    for (const none of ['none', 'None', 'NONE', 'nOnE']) {
      await refused(`${part({ alg: none })}.${part(claims())}.`);
      await refused(`${part({ alg: none, kid })}.${part(claims())}.AAAA`);
    }
  });

  it('is refused with a MAC under the public key', async () => {
    const publicKey = createPublicKey(signingKey);
    const secrets = [
      publicKey.export({ type: 'spki', format: 'pem' }),
      publicKey.export({ type: 'spki', format: 'der' }),
      Buffer.from(JSON.stringify(await exportJWK(publicKey))),
    ];
    for (const hmac of ['HS256', 'HS384', 'HS512']) {
      for (const secret of secrets) {
        const bytes = Buffer.concat([Buffer.from(secret), Buffer.alloc(64)]);
        for (const key of [Buffer.from(secret), bytes]) {
          await refused(await new SignJWT(claims()).setProtectedHeader({ alg: hmac, kid }).sign(key));
        }
      }
    }
  });

  it('is refused with another signature, or none that is whole', async () => {
    const [header = '', payload = '', signature = ''] = (await signed(claims())).split('.');
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    await refused(await new SignJWT(claims()).setProtectedHeader({ alg, kid }).sign(other));
    await refused(`${header}.${part(claims({ name: 'Somebody Else' }))}.${signature}`);
    await refused(`${part({ alg, kid, typ: 'x' })}.${payload}.${signature}`);
    await refused(`${header}.${payload}.`);
    await refused(`${header}.${payload}.${signature.slice(4)}`);
    await refused(await new SignJWT(claims()).setProtectedHeader({ alg: 'PS256', kid }).sign(signingKey));
  });

  it.each([
    ['is unknown', 'another'],
    ['is a path', '../../../../dev/null'],
    ['is a query', `${kid}' or '1'='1`],
    ['is empty', ''],
    ['is long', 'k'.repeat(20_000)],
    ['is a list', [kid]],
    ['is an object', { toString: kid }],
    ['is null', null],
    ['is __proto__', '__proto__'],
  ])('is refused where kid %s', async (_what, forged) => {
    const header = part({ alg, kid: forged });
    const [, payload = '', signature = ''] = (await signed(claims())).split('.');
    await refused(`${header}.${payload}.${signature}`);
  });

  it('is refused with a key of its own in the header', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const jwk = publicKey.export({ format: 'jwk' });
    for (const header of [
      { alg, jwk },
      { alg, kid, jwk },
      { alg, kid, x5c: ['AAAA'] },
    ]) {
      const content = `${part(header)}.${part(claims())}`;
      await refused(`${content}.${sign('sha256', Buffer.from(content), privateKey).toString('base64url')}`);
    }
  });

  it('is refused with critical extensions', async () => {
    for (const header of [{ crit: ['b64'], b64: true }, { crit: ['x'], x: 1 }, { crit: [] }]) {
      const content = `${part({ alg, kid, ...header })}.${part(claims())}`;
      await refused(`${content}.AAAA`);
    }
  });

  it('is refused encrypted and not signed, and to a key that is not configured', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const unsigned = await new CompactEncrypt(Buffer.from(JSON.stringify(claims())))
      .setProtectedHeader({ alg: 'PBES2-HS256+A128KW', enc: 'A256GCM', p2c: 2048 })
      .encrypt(Buffer.from('pass'));
    expect(await outcome(unsigned, { password: 'pass' })).toEqual(['2/213', `${at}the encrypted token does not contain a signed token`]);
    const foreign = await new CompactEncrypt(Buffer.from(await signed(claims())))
      .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM' })
      .encrypt(publicKey);
    expect((await outcome(foreign))[0]).toBe('2/213');
  });
});

describe('a token under a password', () => {
  const under = async (password: string, p2c = 8192): Promise<string> =>
    new CompactEncrypt(Buffer.from(await signed(claims())))
      .setProtectedHeader({ alg: 'PBES2-HS256+A128KW', enc: 'A256GCM', cty: 'JWT' })
      .setKeyManagementParameters({ p2c })
      .encrypt(Buffer.from(password));

  it('is opened by it', async () => {
    expect(await outcome(await under('a password'), { password: 'a password' })).toEqual(['0/0', 'success']);
  });

  it('is not opened by another, or without', async () => {
    const token = await under('a password');
    expect(await outcome(token, { password: 'another' })).toEqual(['2/213', `${at}the token is not encrypted with this password`]);
    expect(await outcome(token)).toEqual([
      '1/101',
      '/certificationRequestInfo/JWT/password: the token is encrypted with a password, which is required',
    ]);
  });

  it.each([100_001, 2_147_483_647, 1e15, 0, -1, 1.5, '8192', null])('is not tried with %s iterations', async (p2c) => {
    const [, ...rest] = (await under('a password')).split('.');
    const header = part({ alg: 'PBES2-HS256+A128KW', enc: 'A256GCM', p2c, p2s: 'AAAAAAAAAAAAAAAAAAAAAA' });
    const started = performance.now();
    expect((await outcome([header, ...rest].join('.'), { password: 'a password' }))[0]).toBe('2/213');
    expect(performance.now() - started).toBeLessThan(5000);
  });
});

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
