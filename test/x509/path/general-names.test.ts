import { describe, expect, it } from 'vitest';
import * as der from '../../../src/asn1/der.ts';
import { DerError, readAll } from '../../../src/asn1/reader.ts';
import { Effort } from '../../../src/x509/path/effort.ts';
import { generalName, nameKey, type GeneralName } from '../../../src/x509/path/general-names.ts';
import { readNameConstraints } from '../../../src/x509/path/name-constraints.ts';
import { NameRules } from '../../../src/x509/path/name-rules.ts';

const read = (tag: number, content: Uint8Array): GeneralName =>
  generalName(readAll(der.concat(Uint8Array.of(tag, content.length), content)));
const text = (tag: number, value: string): GeneralName => read(tag, Buffer.from(value, 'latin1'));
const empty = der.sequence();

describe('a general name', () => {
  it('is of one of the nine forms (RFC 5280 4.2.1.6)', () => {
    expect([0x81, 0x82, 0x86].map((tag) => text(tag, 'a~'))).toEqual(['email', 'dns', 'uri'].map((kind) => ({ kind, text: 'a~' })));
    expect(read(0x87, Buffer.of(1, 2, 3, 4))).toMatchObject({ kind: 'ip' });
    expect(read(0xa4, empty)).toMatchObject({ kind: 'directory', name: { relativeNames: [] } });
    expect([0xa0, 0xa3, 0xa5, 0x88].map((tag) => read(tag, empty))).toEqual(
      [0xa0, 0xa3, 0xa5, 0x88].map((tag) => ({ kind: 'other', tag })),
    );
    for (const tag of [0x80, 0x83, 0x84, 0x85, 0x89, 0xa1, 0xa2, 0xa6, 0x30]) expect(() => read(tag, empty)).toThrow(DerError);
  });

  it('has text of ASCII alone, and one distinguished name', () => {
    for (const tag of [0x81, 0x82, 0x86]) {
      expect(text(tag, 'a\x7f')).toMatchObject({ text: 'a\x7f' });
      expect(() => text(tag, 'a\x80')).toThrow('name is not ASCII');
    }
    for (const content of [Buffer.alloc(0), der.concat(empty, empty), der.set()]) expect(() => read(0xa4, content)).toThrow(DerError);
  });

  it('is compared by its form and its text', () => {
    expect(nameKey(text(0x86, 'a'))).toBe(nameKey(text(0x86, 'a')));
    expect(new Set([text(0x86, 'a'), text(0x86, 'b'), text(0x82, 'a'), read(0xa4, empty)].map(nameKey)).size).toBe(4);
    expect(nameKey(read(0x87, Buffer.of(1)))).toBe(undefined);
    expect(nameKey(read(0x88, empty))).toBe(undefined);
  });
});

describe('constraints of hosts', () => {
  const fault = (list: 'permitted' | 'excluded', base: GeneralName, name: GeneralName): string | undefined => {
    const rules = new NameRules(new Effort());
    rules.add({ permitted: [], excluded: [], [list]: [base] });
    return rules.faultOf(name);
  };
  const excluded = 'a name in an excluded subtree';
  const outside = 'a name outside the permitted subtrees';
  const [uri, dns, email] = [0x86, 0x82, 0x81] as const;

  it.each<[number, string, string, boolean]>([
    [uri, 'host.example', 'http://host.example/x', true],
    [uri, 'host.example', 'HTTP://HOST.EXAMPLE', true],
    // Of this scheme, the URL standard leaves the host as it is.
    [uri, 'host.example', 'ldap://HOST.example/cn=x', true],
    [uri, 'HOST.example', 'ldap://host.example:389/cn=x', true],
    [uri, 'host.example', 'http://host.example./', true],
    [uri, 'host.example', 'http://a.host.example/', false],
    [uri, '.host.example', 'http://a.host.example./', true],
    [uri, '.host.example', 'http://host.example/', false],
    [dns, 'host.example', 'Host.Example', true],
    [dns, 'host.example', 'host.example.', true],
    [dns, 'host.example.', 'a.host.example', true],
    [dns, '.host.example', 'a.host.example', true],
    [dns, 'host.example', 'ahost.example', false],
    [dns, '', 'any.example', true],
    [email, 'host.example', 'a@HOST.example', true],
    [email, 'host.example', 'a@host.example.', true],
    [email, 'host.example', 'a@b.host.example', false],
    [email, '.host.example', 'a@b.host.example', true],
    [email, '.host.example', 'a@.host.example', false],
    [email, 'A@host.example', 'A@Host.example', true],
    [email, 'A@host.example', 'a@host.example', false],
    [email, '', 'a@any.example', true],
    // A quoted local part can contain the character as well (RFC 5321 §4.1.2).
    [email, 'host.example', '"a@other.example"@host.example', true],
    [email, 'other.example"@host.example', '"a@other.example"@host.example', false],
    [email, '"a@b"@host.example', '"a@b"@HOST.example', true],
    [email, '"a@b"@host.example', '"a@c"@host.example', false],
  ])('%i: %j holds for %j: %s', (tag, base, name, isIn) => {
    expect(fault('excluded', text(tag, base), text(tag, name))).toBe(isIn ? excluded : undefined);
    expect(fault('permitted', text(tag, base), text(tag, name))).toBe(isIn ? undefined : outside);
  });

  it.each(['http://192.0.2.1/', 'http://[::1]/', 'urn:x', 'mailto:a@b', 'no URI'])('refuse a URI that has none: %s', (name) => {
    expect(fault('permitted', text(uri, 'host.example'), text(uri, name))).toMatch(/^a URI without a host name/);
    expect(fault('excluded', text(dns, 'host.example'), text(uri, name))).toBe(undefined);
  });

  it('refuse a form that cannot be compared, and leave the others alone', () => {
    const other = read(0x88, empty);
    expect(fault('permitted', other, other)).toMatch(/^a name of a form/);
    expect(fault('permitted', other, read(0xa0, empty))).toBe(undefined);
    expect(fault('permitted', other, text(dns, 'a'))).toBe(undefined);
  });

  it('of addresses are networks of the same length', () => {
    const network = read(0x87, Buffer.of(10, 1, 0, 0, 255, 255, 0, 0));
    expect(fault('excluded', network, read(0x87, Buffer.of(10, 1, 9, 9)))).toBe(excluded);
    expect(fault('excluded', network, read(0x87, Buffer.of(10, 2, 0, 0)))).toBe(undefined);
    expect(fault('permitted', network, read(0x87, Buffer.alloc(16)))).toBe(outside);
    expect(fault('permitted', read(0x87, Buffer.alloc(7)), read(0x87, Buffer.alloc(4)))).toBe(outside);
    // All addresses of IPv6, and one of IPv4.
    expect(fault('permitted', read(0x87, Buffer.alloc(32)), read(0x87, Buffer.alloc(4)))).toBe(outside);
  });
});

it('a subtree has a base, and a minimum of 0 at most (RFC 5280 4.2.1.10)', () => {
  const base = Buffer.from('820161', 'hex');
  const constraints = (tag: number, ...fields: readonly Uint8Array[]): Uint8Array => {
    const subtree = der.sequence(...fields);
    return der.sequence(der.concat(Uint8Array.of(tag, subtree.length), subtree));
  };
  const one = [{ kind: 'dns', text: 'a' }];
  expect(readNameConstraints(constraints(0xa0, base))).toEqual({ permitted: one, excluded: [] });
  expect(readNameConstraints(constraints(0xa1, base))).toEqual({ permitted: [], excluded: one });
  expect(readNameConstraints(constraints(0xa0, base, Buffer.from('800100', 'hex')))).toEqual({ permitted: one, excluded: [] });
  for (const more of ['800101', '80020000', '8000', '810100', '810105', '800100810105'])
    expect(() => readNameConstraints(constraints(0xa0, base, Buffer.from(more, 'hex')))).toThrow(DerError);
  expect(() => readNameConstraints(constraints(0xa0))).toThrow(DerError);
  expect(() => readNameConstraints(constraints(0xa2, base))).toThrow(DerError);
  expect(() => readNameConstraints(der.concat(constraints(0xa0, base), base))).toThrow(DerError);
});
