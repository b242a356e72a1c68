import { beforeAll, describe, expect, it } from 'vitest';
import { call, codeOf, contentDocument, description, textOf, type ClientName } from '../../support/api.ts';
import {
  attemptsLeft,
  authorised,
  authorizeRequest,
  csc,
  extendRequest,
  invalid,
  lastOtp,
  newCredential,
  newCredentialWithOwner,
  newHash,
  oids,
  refusalOf,
  sentOtp,
  sha256Of,
  signDocRequest,
  signHashRequest,
  versions,
  type Credential,
  type Secrets,
  type Version,
} from './csc-caller.ts';

const client = 'other';
const unknown = invalid('Invalid parameter credentialID');
const wrongPin = { v1: '400 invalid_pin: The PIN is invalid', v2: '400 invalid_authentication_data: The authentication data is invalid' };
const wrongOtp = { ...wrongPin, v1: '400 invalid_otp: The OTP is invalid' };
const locked = { v1: invalid('PIN locked'), v2: invalid('Credential locked') };
const disabled = invalid('The credential identified by credentialID is disabled');
const notAuthorised = invalid('Hash is not authorized by the SAD');
const otherDocuments = invalid('The credential is bound to other documents');

const authorize = async (
  of: ClientName,
  version: Version,
  id: string,
  secrets: Secrets,
  more: Record<string, string | number | readonly string[]> = {},
): Promise<string> => refusalOf(await csc(of, version, 'credentials/authorize', authorizeRequest(version, id, secrets, more)));

/** Every method that names a credential, with a secret that is the credential's own where one is needed. */
function everyMethod(version: Version, { id, pin }: Pick<Credential, 'id' | 'pin'>, sad: string): [string, object][] {
  const hashes = [newHash()];
  return [
    ['credentials/info', { credentialID: id }],
    ['credentials/sendOTP', { credentialID: id }],
    ['credentials/authorize', authorizeRequest(version, id, { pin })],
    ['credentials/extendTransaction', extendRequest(version, id, sad, hashes)],
    ['signatures/signHash', signHashRequest(version, id, sad, hashes)],
    ...(version === 'v1'
      ? []
      : ([
          ['signatures/signDoc', signDocRequest(id, sad, ['x'])],
          ['credentials/getChallenge', { credentialID: id, authObjectID: 'OTP' }],
        ] as [string, object][])),
  ];
}

describe.each(versions)('a credential, in %s', (version) => {
  it("of another tenant is unknown, and so is a digital identity's key", async () => {
    const { twoDDoc } = description;
    const hashes = [newHash()];
    const theirs = await newCredential('p384');
    const sad = await authorised('p384', theirs.id, theirs, { hashes });
    const identity = { id: twoDDoc?.keyReference ?? '', pin: twoDDoc?.password ?? '' };
    expect(codeOf(await call('app', 'pki/checkKey', { keyReference: { reference: identity.id } }))).toBe('0/0');
    for (const [of, key] of [
      ['other', theirs],
      ['app', identity],
    ] as const) {
      for (const [method, request] of everyMethod(version, key, sad)) {
        expect([of, method, refusalOf(await csc(of, version, method, request))]).toEqual([of, method, unknown]);
      }
    }
    expect(await attemptsLeft('p384', theirs.id)).toBe(5);
    // Whoever owns it may sign after all that.
    const signed = await csc('p384', version, 'signatures/signHash', signHashRequest(version, theirs.id, sad, hashes));
    expect(refusalOf(signed)).toBe('200');
  });

  it.each(['v1', 'v2'] as const)('is locked by five wrong PINs in %s, for sign too', async (locking) => {
    const key = await newCredential(client);
    const sad = await authorised(client, key.id, key);
    for (let time = 0; time < 5; time += 1) expect(await authorize(client, locking, key.id, { pin: 'wrong' })).toBe(wrongPin[locking]);
    for (const [method, request] of everyMethod(version, key, sad).filter(([name]) => name !== 'credentials/info')) {
      expect([method, refusalOf(await csc(client, version, method, request))]).toEqual([method, locked[version]]);
    }
    const keyReference = { reference: key.id, password: key.pin };
    const request = { keyReference, parameters: { rawSignature: {} }, inputDocuments: [contentDocument('x')] };
    expect(codeOf(await call(client, 'signature/sign', request))).toBe('2/203');
    const info = await csc(client, version, 'credentials/info', { credentialID: key.id });
    expect([info.body['key']?.['status'], info.body['cert']?.['status']]).toEqual(['disabled', 'valid']);
  });

  it('that wrong passwords of sign have locked is locked', async () => {
    const key = await newCredential(client);
    const keyReference = { reference: key.id, password: 'wrong' };
    const request = { keyReference, parameters: { rawSignature: {} }, inputDocuments: [contentDocument('x')] };
    for (let time = 0; time < 5; time += 1) expect(codeOf(await call(client, 'signature/sign', request))).toBe('2/202');
    expect(await authorize(client, version, key.id, key)).toBe(locked[version]);
  });

  const certificateOf = ({ certificate }: Credential): object => ({ certificate });
  it.each([
    ['revoked', 'pki/revokeCertificate', (key: Credential): object => certificateOf(key)],
    ['suspended', 'pki/revokeCertificate', (key: Credential): object => ({ ...certificateOf(key), reason: 'CERTIFICATE_HOLD' })],
    ['valid', 'pki/removeKey', ({ id, pin }: Credential): object => ({ keyReference: { reference: id, password: pin } })],
  ])('whose certificate is %s after %s is disabled, and its activation data is useless', async (status, operation, requestOf) => {
    const key = await newCredential(client);
    const hashes = [newHash()];
    const sad = await authorised(client, key.id, key, { hashes });
    expect(codeOf(await call(client, operation, requestOf(key)))).toBe('0/0');
    for (const [method, request] of everyMethod(version, key, sad).filter(([name]) => name !== 'credentials/info')) {
      expect([method, refusalOf(await csc(client, version, method, request))]).toEqual([method, disabled]);
    }
    expect(refusalOf(await csc(client, version, 'signatures/signHash', signHashRequest(version, key.id, sad, hashes)))).toBe(disabled);
    const info = await csc(client, version, 'credentials/info', { credentialID: key.id });
    expect([info.body['key']?.['status'], info.body['cert']?.['status']]).toEqual(['disabled', status]);
  });

  it('whose only signature is made is disabled', async () => {
    const key = await newCredential(client, 'SINGLE_USE');
    const hashes = [newHash(), newHash()];
    const [first, second] = [await authorised(client, key.id, key, { hashes }), await authorised(client, key.id, key, { hashes })];
    const sign = async (sad: string): Promise<string> =>
      refusalOf(await csc(client, version, 'signatures/signHash', signHashRequest(version, key.id, sad, hashes)));
    expect([await sign(first), await sign(first), await sign(second)]).toEqual(['200', disabled, disabled]);
    expect(await authorize(client, version, key.id, key)).toBe(disabled);
  });
});

describe.each(versions)('credentials/authorize of %s', (version) => {
  const otpClient = 'otp';
  let owned: Credential & { readonly address: string };
  beforeAll(async () => {
    owned = await newCredentialWithOwner('PASSWORD');
  });

  it('needs a secret that the key has', async () => {
    const missing = (name: string): string =>
      invalid(`Missing (or invalid type) ${version === 'v1' ? `string parameter ${name}` : 'array parameter authData'}`);
    const otpKey = await newCredential(client, 'OTP');
    const single = await newCredential(client, 'SINGLE_USE');
    expect(await authorize(client, version, otpKey.id, {})).toBe(missing('OTP'));
    expect(await authorize(client, version, single.id, {})).toBe(missing('PIN'));
    expect(await authorize(client, version, otpKey.id, { pin: '12345678' })).toBe(
      invalid('Invalid parameter PIN: the credential has none'),
    );
    const pinAlone = 'Invalid parameter OTP: the credential is authorised by its PIN alone';
    expect(await authorize(client, version, single.id, { otp: '12345678' })).toBe(invalid(pinAlone));
    expect(await authorize(client, version, single.id, { ...single, otp: '12345678' })).toBe(invalid(pinAlone));
    for (const key of [otpKey, single]) expect(await attemptsLeft(client, key.id)).toBe(5);
  });

  it('wants the PIN and the OTP right where both are given, and says which one was not', async () => {
    const { pin } = owned;
    const otp = await sentOtp(owned, version);
    const wrong = otp === '00000000' ? '00000001' : '00000000';
    const tried = async (secrets: Secrets): Promise<string> => authorize(otpClient, version, owned.id, secrets);
    expect(await tried({ pin: 'wrong', otp })).toBe(wrongPin[version]);
    expect(await tried({ pin, otp: wrong })).toBe(wrongOtp[version]);
    expect(await tried({ pin: otp })).toBe(wrongPin[version]);
    expect(await tried({ otp: pin })).toBe(wrongOtp[version]);
    expect(await tried({ pin, otp })).toBe('200');
    expect(await tried({ pin, otp })).toBe(wrongOtp[version]);
    expect(await tried({ otp })).toBe(wrongOtp[version]);
    expect(await tried({ pin })).toBe('200');
  });

  it('takes no OTP of sign, and sign takes none of its own', async () => {
    const key = await newCredentialWithOwner('OTP');
    const digest = [{ id: 'd', digestAlgOID: oids.sha256, digestValue: sha256Of('x') }];
    const ask = { action: 'SIGN', keyReference: key.id, signerData: { digest } };
    const sign = async (password: string): Promise<string> => {
      const keyReference = { reference: key.id, password };
      const request = { keyReference, parameters: { rawSignature: {} }, inputDocuments: [contentDocument('x')] };
      return codeOf(await call(otpClient, 'signature/sign', request));
    };
    expect(codeOf(await call(otpClient, 'pki/sendOTP', ask))).toBe('0/0');
    const otpOfSign = lastOtp(key.address);
    const otp = await sentOtp(key, version);
    expect(otp).not.toBe(otpOfSign);
    expect(await authorize(otpClient, version, key.id, { otp: otpOfSign }, { hashes: [sha256Of('x')] })).toBe(wrongOtp[version]);
    expect(await sign(otp)).toBe('2/202');
    expect(await sign(otpOfSign)).toBe('0/0');
    expect(await authorize(otpClient, version, key.id, { otp }, { hashes: [sha256Of('x')] })).toBe('200');
  });

  it('refuses other hashes than those that the key is bound to', async () => {
    const digest = [{ id: 'd', digestAlgOID: oids.sha256, digestValue: sha256Of('x') }];
    const key = await newCredential(client, 'PASSWORD', { more: { signerData: { digest } } });
    expect(await authorize(client, version, key.id, key)).toBe(otherDocuments);
    expect(await authorize(client, version, key.id, key, { hashes: [sha256Of('x'), newHash()] })).toBe(otherDocuments);
    const hashes = [sha256Of('x')];
    const sad = await authorised(client, key.id, key, { hashes });
    expect(refusalOf(await csc(client, version, 'signatures/signHash', signHashRequest(version, key.id, sad, hashes)))).toBe('200');
    const next = await authorised(client, key.id, key, { hashes });
    const extended = extendRequest(version, key.id, next, [newHash()]);
    expect(refusalOf(await csc(client, version, 'credentials/extendTransaction', extended))).toBe(notAuthorised);
  });

  it('needs the transaction of a key that is bound to one', async () => {
    const key = await newCredential(client, 'PASSWORD', { info: { transactionId: 'T-1' } });
    expect(await authorize(client, version, key.id, key)).toBe(wrongPin[version]);
    expect(await authorize(client, version, key.id, key, { clientData: 'T-2' })).toBe(wrongPin[version]);
    expect(await authorize(client, version, key.id, { pin: 'wrong' }, { clientData: 'T-1' })).toBe(wrongPin[version]);
    expect(await attemptsLeft(client, key.id)).toBe(2);
    const hashes = [newHash()];
    const sad = await authorised(client, key.id, key, { hashes, clientData: 'T-1' });
    expect(await attemptsLeft(client, key.id)).toBe(5);
    expect(refusalOf(await csc(client, version, 'signatures/signHash', signHashRequest(version, key.id, sad, hashes)))).toBe('200');
  });

  it('authorises as many signatures as multisign says, and no more', async () => {
    const key = await newCredential(client);
    const info = await csc(client, version, 'credentials/info', { credentialID: key.id });
    const multisign = Number(textOf(info.body['multisign']));
    const tooMany = invalid('Numbers of signatures is too high');
    expect(await authorize(client, version, key.id, key, { numSignatures: multisign + 1 })).toBe(tooMany);
    expect(await authorize(client, version, key.id, key, { numSignatures: multisign })).toBe('200');
  });
});

describe.each(versions)('credentials/sendOTP of %s', (version) => {
  it('is refused for a key that has no OTP, or whose owner has no address', async () => {
    const single = await newCredential(client, 'SINGLE_USE');
    const refused = async (of: ClientName, id: string): Promise<string> =>
      refusalOf(await csc(of, version, 'credentials/sendOTP', { credentialID: id }));
    expect(await refused(client, single.id)).toBe(invalid('The credential is authorised by its PIN alone'));
    const noAddress = invalid('The owner of the credential cannot be reached: no address, or no gateway for it');
    expect(await refused(client, (await newCredential(client, 'OTP')).id)).toBe(noAddress);
    expect(await refused('otp', (await newCredential('otp', 'OTP')).id)).toBe(noAddress);
  });
});
