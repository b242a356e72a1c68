import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { DerError } from '../../src/asn1/reader.ts';
import { distinguishedNameText } from '../../src/x509/distinguished-name.ts';
import { signedCertificate } from '../../src/certificates/signed-certificate.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import type { SubjectFields } from '../../src/certificates/subject-fields.ts';
import { openssl } from '../certificates/openssl.ts';
import { signing, softwareKey } from '../certificates/software-authority.ts';

/** The subject of a certificate as OpenSSL writes it. */
async function opensslName(name: Uint8Array): Promise<string> {
  const key = softwareKey('P-256');
  const { subjectPublicKeyInfo } = key;
  const certificate = await signedCertificate(
    { name, subjectPublicKeyInfo, ...signing(key) },
    {
      ...{ subject: name, subjectPublicKeyInfo, extensions: [], serialNumber: randomBytes(16) },
      ...{ notBefore: new Date(0), notAfter: new Date(60_000) },
    },
  );
  const shown = openssl(['x509', '-inform', 'DER', '-noout', '-subject', '-nameopt', 'RFC2253,-esc_msb,utf8'], certificate);
  return shown.replace(/^subject=/, '').trim();
}

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
    const name = der.sequence(
      ...[['2.5.4.97', 'VATFR-1'] as const, ['2.5.4.10', ' o '] as const].map(([oid, value]) =>
        der.set(der.sequence(der.oid(oid), der.utf8String(value))),
      ),
    );
    expect(distinguishedNameText(name)).toBe(String.raw`O=\ o\ ,2.5.4.97=#0c0756415446522d31`);
  });

  test('uses the names of RFC 4519, and says of every attribute what OpenSSL says', async () => {
    const fields = [
      ...['street', 'postalCode', 'postOfficeBox', 'description', 'businessCategory', 'physicalDeliveryOfficeName', 'name', 'initials'],
      ...['generationQualifier', 'houseIdentifier', 'uid', 'dc', 'destinationIndicator'],
    ].map((identifier) => ({ identifier, identifierType: 'NAME' as const, value: `a,b ${identifier}` }));
    const numbers = ['x121Address', 'internationalISDNNumber'].map((identifier) => ({
      identifier,
      identifierType: 'NAME' as const,
      value: '123',
    }));
    const email = { identifier: 'emailAddress', identifierType: 'NAME' as const, value: 'z@example.test' };
    const name = subjectName({
      ...cn('Zoé + Cie'),
      fields: { nameField: [...fields, ...numbers, email] },
      title: 'Dr',
      givenName: 'Zoé',
      surName: 'Martin',
      serialNumber: 'S-1',
      phoneNumber: '+33 1 23',
      DNQualifier: 'q1',
      stateName: 'IdF',
      localityName: 'Paris',
    });
    const ours = distinguishedNameText(name);
    expect(ours).toContain('CN=Zoé \\+ Cie,givenName=Zoé,sn=Martin,serialNumber=S-1,dnQualifier=q1,telephoneNumber=\\+33 1 23,title=Dr,');
    const lowerNames = (text: string): string => text.replaceAll(/(^|[^\\],|\+)([a-zA-Z0-9]+)=/g, (found) => found.toLowerCase());
    const theirs = lowerNames(await opensslName(name)).replaceAll(/(^|,)gn=/g, '$1givenname=');
    expect(theirs).toBe(lowerNames(ours));
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
