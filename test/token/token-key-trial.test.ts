import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { findObjects } from '../../src/token/host/find-objects.ts';
import { probeToken, type Probed } from '../../src/token/host/probe.ts';
import { pkcs11js } from '../../src/token/host/session.ts';
import { tryTokenKeys, type TokenKeyFindings } from '../../src/token/host/token-key-trial.ts';
import { ckr } from '../../src/token/pkcs11-faults.ts';
import { DirectToken, profileWith } from './direct-token.ts';

let token: DirectToken;
let probed: Probed;
beforeAll(() => {
  token = new DirectToken();
  probed = probeToken(token.session, token.slot, profileWith(), { full: false });
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => {
  token.remove();
});

const tried = (quirks: object = {}): TokenKeyFindings =>
  tryTokenKeys(token.session, token.slot, 'P-256', { ...probed.rules, profile: profileWith(quirks) });
const tokenKeys = (): number =>
  [pkcs11js.CKO_PRIVATE_KEY, pkcs11js.CKO_SECRET_KEY, pkcs11js.CKO_PUBLIC_KEY].flatMap((value) =>
    findObjects(token.session, [
      { type: pkcs11js.CKA_CLASS, value },
      { type: pkcs11js.CKA_TOKEN, value: true },
    ]),
  ).length;

it.each([
  {},
  { idAfterGeneration: true, privateKey: { uniqueLabel: true }, publicKey: { onToken: true } },
  { macKey: { comparedBy: 'host', omit: ['CKA_ALLOWED_MECHANISMS'] } },
])('keys on the token are tried, twice, and none stays, with the profile %j', (quirks) => {
  const before = tokenKeys();
  for (let time = 1; time <= 2; time += 1) expect(tried(quirks)).toEqual({ missing: [], limits: [] });
  expect(tokenKeys()).toBe(before);
});

it('what a token does otherwise with keys that it keeps is named, and none stays', () => {
  const before = tokenKeys();
  token.failNext('C_GenerateKeyPair', ckr.GENERAL_ERROR);
  expect(tried()).toMatchObject({
    missing: [expect.stringMatching(/^the token keeps no P-256 keys as the service needs them: .*0x5/)],
  });
  token.failNext('C_GenerateKey', ckr.ATTRIBUTE_VALUE_INVALID);
  expect(tried()).toMatchObject({ missing: [expect.stringContaining('keeps no keys for HMAC')] });
  token.failNext('C_SetAttributeValue', ckr.ATTRIBUTE_READ_ONLY);
  expect(tried()).toMatchObject({ missing: [], limits: [expect.stringContaining('set keyPool.keys to 0')] });
  expect(tokenKeys()).toBe(before);
});

it.each([
  ['CKA_EXTRACTABLE', Buffer.of(1), 'a key is extractable'],
  ['CKA_SENSITIVE', Buffer.of(0), 'a key is not sensitive'],
  ['CKA_TOKEN', Buffer.of(0), 'a key is not kept on the token'],
  ['CKA_ID', Buffer.alloc(17), 'a key has another CKA_ID than it was given'],
] as const)('a token that ignores %s is found out', (name, value, words) => {
  const read = token.module.C_GetAttributeValue.bind(token.module);
  let isOn = false;
  vi.spyOn(token.module, 'C_GetAttributeValue').mockImplementation((session, key, template) => {
    // Not where a new key is checked, which is another rule.
    isOn ||= template[0]?.type === pkcs11js.CKA_ID && !session.equals(token.session.handle);
    return isOn && template[0]?.type === pkcs11js[name] ? [{ type: pkcs11js[name], value }] : read(session, key, template);
  });
  const before = tokenKeys();
  // A key for HMAC with another CKA_ID is found out where it is made.
  expect(tried().missing).toEqual([expect.stringContaining(words), expect.stringMatching(name === 'CKA_ID' ? /0xd1/ : words)]);
  vi.restoreAllMocks();
  expect(tokenKeys()).toBe(before);
});
