import { expect, it } from 'vitest';
import * as der from '../../../src/asn1/der.ts';
import { oids } from '../../../src/asn1/object-identifiers.ts';
import { DerError } from '../../../src/asn1/reader.ts';
import { canonicalName, isWithin } from '../../../src/x509/path/canonical-name.ts';

const nameOf = (commonName: string): Uint8Array =>
  der.sequence(der.setOf([der.sequence(der.oid(oids.commonName), der.utf8String(commonName))]));

it('names are equal without regard to case, white space and normal form', () => {
  expect(canonicalName(nameOf(' Élise  Martin '))).toEqual(canonicalName(nameOf('élise martin'.normalize('NFD'))));
  expect(canonicalName(nameOf('Elise Martin'))).not.toEqual(canonicalName(nameOf('Élise Martin')));
});

it('a name of very many marks is compared as it is: bringing them into order would take a minute', () => {
  const marks = `a${'\u0345'.repeat(3000)}${'\u0334'.repeat(3000)}`;
  expect(canonicalName(nameOf(marks))).toEqual(canonicalName(nameOf(marks)));
  expect(canonicalName(nameOf(marks))).not.toEqual(canonicalName(nameOf(`${marks}\u0334`)));
});

const attribute = (type: string, value: Uint8Array, ...more: Uint8Array[]): Uint8Array => der.sequence(der.oid(type), value, ...more);
const keyOf = (...relativeNames: Uint8Array[]): string => canonicalName(der.sequence(...relativeNames)).key;
const [commonName, organisation] = [attribute(oids.commonName, der.utf8String('a')), attribute('2.5.4.10', der.utf8String('b'))] as const;

it('a value of up to 4096 characters is compared in its canonical form, and a longer one as it is', () => {
  const areEqual = (length: number): boolean =>
    canonicalName(nameOf('A'.repeat(length))).key === canonicalName(nameOf('a'.repeat(length))).key;
  expect([areEqual(4096), areEqual(4097)]).toEqual([true, false]);
});

it('names are equal whatever the order of attributes in one RDN and the type of their strings, and not in another order of RDNs', () => {
  expect(keyOf(der.set(commonName, organisation))).toBe(keyOf(der.set(organisation, commonName)));
  expect(keyOf(der.set(attribute(oids.commonName, der.printableString('A'))))).toBe(keyOf(der.set(commonName)));
  const all = [
    keyOf(der.set(commonName, organisation)),
    keyOf(der.set(commonName), der.set(organisation)),
    keyOf(der.set(organisation), der.set(commonName)),
    keyOf(der.set(commonName)),
    keyOf(der.set(attribute('2.5.4.10', der.utf8String('a')))),
    keyOf(der.set(attribute(oids.commonName, der.octetString(Buffer.from('a'))))),
    keyOf(der.set(attribute(oids.commonName, der.octetString(Buffer.from('A'))))),
    keyOf(),
  ];
  expect(new Set(all).size).toBe(all.length);
});

it('a name lies in those that it begins with', () => {
  const [one, two, other] = [der.set(commonName), der.set(organisation), der.set(attribute(oids.commonName, der.utf8String('c')))];
  const within = (name: readonly Uint8Array[], base: readonly Uint8Array[]): boolean =>
    isWithin(canonicalName(der.sequence(...name)), canonicalName(der.sequence(...base)));
  expect([within([one, two], []), within([one, two], [one]), within([one, two], [one, two])]).toEqual([true, true, true]);
  expect([within([one], [one, two]), within([other, two], [one, two]), within([one, two], [two])]).toEqual([false, false, false]);
});

it('what is no name, or larger than any, is an error', () => {
  const value = der.utf8String('a');
  for (const relativeName of [
    der.set(attribute(oids.commonName, value, value)),
    der.set(der.sequence(der.oid(oids.commonName))),
    der.set(der.set(der.oid(oids.commonName), value)),
    attribute(oids.commonName, value),
  ])
    expect(() => canonicalName(der.sequence(relativeName))).toThrow(DerError);
  // Four headers of two octets have four each then.
  const most = nameOf('a'.repeat(16 * 1024 - nameOf('').length - 8));
  expect(most.length).toBe(16 * 1024);
  expect(() => canonicalName(most)).not.toThrow();
  expect(() => canonicalName(nameOf('a'.repeat(16 * 1024 - nameOf('').length - 7)))).toThrow('name of more than 16384 octets');
});
