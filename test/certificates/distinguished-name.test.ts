import { describe, expect, test } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { DerError } from '../../src/asn1/reader.ts';
import { distinguishedNameText } from '../../src/certificates/distinguished-name.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import type { SubjectFields } from '../../src/certificates/subject-fields.ts';

const cn = (commonName: string): SubjectFields => ({ country: 'FR', commonName });

describe('the RFC 4514 string', () => {
  test.each([
    ['Zoé Martin', 'CN=Zoé Martin,C=FR'],
    ['a,b+c"d\\e<f>g;h', String.raw`CN=a\,b\+c\"d\\e\<f\>g\;h,C=FR`],
    ['#x', String.raw`CN=\#x,C=FR`],
    ['a=b', 'CN=a=b,C=FR'],
  ])('of %j is %s', (value, text) => {
    expect(distinguishedNameText(subjectName(cn(value)))).toBe(text);
  });

  test('writes a type without a name as OID and hexadecimal, and escapes spaces at the ends', () => {
    const name = subjectName({ ...cn('x'), organizationName: ' o ', serialNumber: 'S1' });
    expect(distinguishedNameText(name)).toBe(String.raw`CN=x,2.5.4.5=#13025331,O=\ o\ ,C=FR`);
  });

  test.each([
    ['BMPString', der.tagged(0x1e, Buffer.from('005a00e9', 'hex')), 'CN=Zé'],
    ['TeletexString', der.tagged(0x14, Buffer.from('Z')), 'CN=#14015a'],
    ['broken UTF-8', der.tagged(0x0c, Buffer.of(0xff)), 'CN=#0c01ff'],
    ['control characters', der.utf8String('a\n\u0000'), String.raw`CN=a\0a\00`],
    ['a single space', der.utf8String(' '), String.raw`CN=\ `],
  ])('of a value in %s', (_, value, text) => {
    const name = der.sequence(der.set(der.sequence(der.oid('2.5.4.3'), value)));
    expect(distinguishedNameText(name)).toBe(text);
  });

  test('is refused for what is no Name', () => {
    expect(() => distinguishedNameText(der.set())).toThrow(DerError);
    expect(() => distinguishedNameText(der.sequence(der.set(der.sequence(der.oid('2.5.4.3')))))).toThrow(DerError);
  });
});
