import type { Attribute } from 'pkcs11js';
import { describe, expect, it } from 'vitest';
import * as templates from '../../src/token/host/key-templates.ts';
import { pkcs11js } from '../../src/token/host/session.ts';
import { macKeyId, newKeyId } from '../../src/token/key-id.ts';
import { profileWith } from './direct-token.ts';

const plain = profileWith();
const id = newKeyId('caller');
const cka = new Map(Object.entries(pkcs11js).flatMap(([name, value]) => (name.startsWith('CKA_') ? [[value as unknown, name]] : [])));

/** Attributes by their names in PKCS #11, so that a template reads as the standard writes it. */
function named(template: Attribute[]): Record<string, unknown> {
  const entries = template.map(({ type, value }): [string, unknown] => [cka.get(type) ?? String(type), value]);
  expect(new Set(entries.map(([name]) => name)).size).toBe(entries.length);
  return Object.fromEntries(entries);
}
const mechanisms = (...codes: number[]): Buffer => Buffer.concat(codes.map((code) => Buffer.of(code & 0xff, code >> 8, 0, 0, 0, 0, 0, 0)));

describe('a private key', () => {
  const rules = {
    CKA_PRIVATE: true,
    CKA_SENSITIVE: true,
    CKA_EXTRACTABLE: false,
    CKA_SIGN: true,
    CKA_DECRYPT: false,
    CKA_UNWRAP: false,
    CKA_DERIVE: false,
  };
  const kept = { CKA_ID: Buffer.from(id, 'hex'), CKA_LABEL: 'signetd', CKA_TOKEN: true, ...rules };

  it.each(['RSA-2048', 'RSA-3072', 'RSA-4096'] as const)('of type %s signs with PKCS #1 v1.5 and PSS, and does nothing else', (type) => {
    expect(named(templates.privateTemplate({ id }, type, plain))).toEqual({ ...kept, CKA_ALLOWED_MECHANISMS: mechanisms(0x1, 0xd) });
  });

  it.each(['P-256', 'P-384', 'P-521'] as const)('of type %s signs with ECDSA, and does nothing else', (type) => {
    expect(named(templates.privateTemplate({ id }, type, plain))).toEqual({ ...kept, CKA_ALLOWED_MECHANISMS: mechanisms(0x1041) });
  });

  it('that is a trial lives in the session, without identifier', () => {
    expect(named(templates.privateTemplate('session', 'P-256', plain))).toEqual({
      ...rules,
      CKA_LABEL: 'signetd probe',
      CKA_TOKEN: false,
      CKA_ALLOWED_MECHANISMS: mechanisms(0x1041),
    });
  });
});

describe('a public key', () => {
  const [rsa, ec] = [
    { CKA_TOKEN: false, CKA_VERIFY: true, CKA_MODULUS_BITS: 3072, CKA_PUBLIC_EXPONENT: Buffer.of(1, 0, 1) },
    { CKA_TOKEN: false, CKA_VERIFY: true, CKA_EC_PARAMS: Buffer.from('06052b81040022', 'hex') },
  ];

  it('has its size and exponent, or its curve, and no name', () => {
    expect(named(templates.publicTemplate({ id }, 'RSA-3072', plain))).toEqual(rsa);
    expect(named(templates.publicTemplate({ id }, 'P-384', plain))).toEqual(ec);
    expect(templates.curves).toEqual({
      'P-256': Buffer.from('06082a8648ce3d030107', 'hex'),
      'P-384': Buffer.from('06052b81040022', 'hex'),
      'P-521': Buffer.from('06052b81040023', 'hex'),
    });
  });

  it('has the name of its private half where it lives on the token, which that of a trial does not', () => {
    const onToken = profileWith({ publicKey: { onToken: true } });
    const late = profileWith({ publicKey: { onToken: true }, idAfterGeneration: true });
    expect(named(templates.publicTemplate({ id }, 'P-384', onToken))).toEqual({
      ...ec,
      CKA_TOKEN: true,
      CKA_ID: Buffer.from(id, 'hex'),
      CKA_LABEL: 'signetd',
    });
    expect(named(templates.publicTemplate({ id }, 'P-384', late))).toEqual({ ...ec, CKA_TOKEN: true, CKA_LABEL: `signetd ${id}` });
    expect(named(templates.publicTemplate('session', 'P-384', onToken))).toEqual(ec);
  });
});

describe('a key for HMAC', () => {
  const rules = {
    CKA_CLASS: pkcs11js.CKO_SECRET_KEY,
    CKA_KEY_TYPE: pkcs11js.CKK_GENERIC_SECRET,
    CKA_PRIVATE: true,
    CKA_SENSITIVE: true,
    CKA_EXTRACTABLE: false,
    CKA_SIGN: true,
    CKA_VERIFY: true,
    CKA_ENCRYPT: false,
    CKA_DECRYPT: false,
    CKA_WRAP: false,
    CKA_UNWRAP: false,
    CKA_DERIVE: false,
  };

  it('that secrets are checked with makes and verifies HMAC-SHA256, and does nothing else', () => {
    const secrets = { ...rules, CKA_VALUE_LEN: 32, CKA_ALLOWED_MECHANISMS: mechanisms(0x251) };
    expect(named(templates.macKeyTemplate({ id: macKeyId }, plain))).toEqual({
      ...secrets,
      CKA_ID: Buffer.from(macKeyId, 'hex'),
      CKA_LABEL: 'signetd secrets',
      CKA_TOKEN: true,
    });
    expect(named(templates.macKeyTemplate('session', plain))).toEqual({ ...secrets, CKA_LABEL: 'signetd probe', CKA_TOKEN: false });
  });

  it('of the service has its own length and mechanism', () => {
    const how = { label: 'a label', bytes: 48, mechanism: 0x261 };
    expect(named(templates.hmacTemplate({ id }, how, plain))).toEqual({
      ...rules,
      CKA_VALUE_LEN: 48,
      CKA_ID: Buffer.from(id, 'hex'),
      CKA_LABEL: 'a label',
      CKA_TOKEN: true,
      CKA_ALLOWED_MECHANISMS: mechanisms(0x261),
    });
  });
});

describe('the label of a key', () => {
  it('is one of ours where it is shared or carries an identifier, and no other', () => {
    for (const label of ['signetd', `signetd ${id}`]) expect(templates.isOurLabel(label)).toBe(true);
    for (const label of [
      'signetd secrets',
      'signetd probe',
      'Signetd',
      '',
      `signetd ${id}0`,
      `a signetd ${id}`,
      `signetd ${id.toUpperCase()}`,
    ])
      expect(templates.isOurLabel(label)).toBe(false);
    expect(templates.idInLabel(`signetd ${id}`)).toBe(id);
  });

  it('carries the identifier where the profile says so, and is that of a trial where the key is one', () => {
    expect(templates.labelOf({ id }, plain)).toBe('signetd');
    for (const quirks of [{ idAfterGeneration: true }, { privateKey: { uniqueLabel: true } }]) {
      expect(templates.labelOf({ id }, profileWith(quirks))).toBe(`signetd ${id}`);
      expect(templates.labelOf('session', profileWith(quirks))).toBe('signetd probe');
    }
  });
});

it('a type of key has bits or a curve', () => {
  expect((['RSA-2048', 'RSA-3072', 'RSA-4096', 'P-256'] as const).map(templates.rsaBitsOf)).toEqual([2048, 3072, 4096, undefined]);
  expect((['P-256', 'P-384', 'P-521'] as const).map(templates.curveOf)).toEqual(['P-256', 'P-384', 'P-521']);
  expect(() => templates.curveOf('RSA-2048')).toThrow('RSA-2048 is not an elliptic curve');
});
