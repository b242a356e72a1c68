import { expect, it } from 'vitest';
import * as der from '../../../src/asn1/der.ts';
import { oids } from '../../../src/asn1/object-identifiers.ts';
import { canonicalName } from '../../../src/x509/path/canonical-name.ts';

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
