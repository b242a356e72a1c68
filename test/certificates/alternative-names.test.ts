import { beforeAll, describe, expect, it } from 'vitest';
import * as der from '../../src/asn1/der.ts';
import { certificateExtensions } from '../../src/certificates/extensions.ts';
import { Pkcs10 } from '../../src/certificates/pkcs10.ts';
import { subjectName } from '../../src/certificates/subject.ts';
import { alternativeNameKinds, CertificateProfile } from '../../src/config/profile.ts';
import { Refusal } from '../../src/result-codes.ts';
import { softwareAuthority, softwareKey, type SoftwareAuthority } from './software-authority.ts';

const key = softwareKey('P-256');
let authority: SoftwareAuthority;
beforeAll(async () => {
  authority = await softwareAuthority('P-256');
});

const ia5 = (tag: number, text: string): Uint8Array => der.implicitPrimitive(tag, Buffer.from(text, 'utf8'));
const otherName = der.implicitConstructed(
  0,
  der.concat(der.oid('1.3.6.1.4.1.311.20.2.3'), der.explicit(0, der.utf8String('administrator@corp.example'))),
);

/** The code of the refusal, or `issued`. */
function outcome(names: readonly Uint8Array[] | Uint8Array, profile: object = {}): string {
  const value = names instanceof Uint8Array ? names : der.sequence(...names);
  const { attributes } = Pkcs10.parse({
    attributes: {
      subscriber: {},
      extensionRequest: { extension: [{ identifier: '2.5.29.17', value: Buffer.from(value).toString('base64') }] },
    },
    subject: { country: 'FR', commonName: 'x' },
  });
  try {
    certificateExtensions(
      CertificateProfile.parse({ keyType: 'P-256', ...profile }),
      authority.issuer,
      key.subjectPublicKeyInfo,
      attributes,
    );
    return 'issued';
  } catch (error) {
    if (error instanceof Refusal) return `${error.code} ${error.message}`;
    throw error;
  }
}

describe('under the default profile, a subjectAltName given in DER', () => {
  it('may contain e-mail addresses', () => {
    expect(outcome([ia5(1, 'zoe@example.test'), ia5(1, 'z@example.org')])).toBe('issued');
  });

  it.each([
    ['an otherName, which is a log-on name to some systems', [otherName], 'otherName'],
    ['a host name', [ia5(2, 'www.example.test')], 'dNSName'],
    ['a URL', [ia5(6, 'https://example.test/')], 'uniformResourceIdentifier'],
    ['an address', [der.implicitPrimitive(7, Uint8Array.of(127, 0, 0, 1))], 'iPAddress'],
    ['a name of a directory', [der.explicit(4, subjectName({ country: 'FR', commonName: 'Root' }))], 'directoryName'],
    ['an identifier', [der.implicitPrimitive(8, Uint8Array.of(0x2a))], 'registeredID'],
    ['an address of X.400', [der.implicitConstructed(3, der.sequence())], 'x400Address'],
    ['one good name and one of another kind', [ia5(1, 'zoe@example.test'), ia5(2, 'www.example.test')], 'dNSName'],
  ])('may not hold %s', (_, names, kind) => {
    expect(outcome(names)).toMatch(/^ISSUANCE_REFUSED .*allowedAlternativeNames/);
    expect(outcome(names)).toContain(kind);
  });

  it.each([
    ['no name', []],
    ['an unknown choice', [der.implicitPrimitive(9, Uint8Array.of(1))]],
    ['a primitive otherName', [der.implicitPrimitive(0, Uint8Array.of(1))]],
    ['a universal string', [der.utf8String('zoe@example.test')]],
    ['what is no sequence', der.utf8String('zoe@example.test')],
    ['an e-mail address with a NUL', [ia5(1, 'zoe@example.test\0.evil.test')]],
    ['an e-mail address that is none', [ia5(1, 'zoe')]],
    ['an e-mail address outside of ASCII', [ia5(1, 'zoé@example.test')]],
  ])('is refused if it holds %s', (_, names) => {
    expect(outcome(names)).toMatch(/^FIELD_INVALID/);
  });
});

describe('where the profile allows every kind', () => {
  const all = { allowedAlternativeNames: alternativeNameKinds };

  it.each([
    ['a host name', ia5(2, 'www.example.test')],
    ['a URL', ia5(6, 'https://example.test/a?b=c')],
    ['an IPv4 address', der.implicitPrimitive(7, Uint8Array.of(127, 0, 0, 1))],
    ['an IPv6 address', der.implicitPrimitive(7, new Uint8Array(16))],
    ['a name of a directory', der.explicit(4, subjectName({ country: 'FR', commonName: 'Zoé' }))],
    ['an identifier', der.implicitPrimitive(8, Uint8Array.of(0x2a, 0x03))],
  ])('%s is issued', (_, name) => {
    expect(outcome([name], all)).toBe('issued');
  });

  it.each([
    ['a wildcard', ia5(2, '*.example.test')],
    ['an address as host name', ia5(2, '127.0.0.1')],
    ['a host name with a NUL', ia5(2, 'www.example.test\0.evil.test')],
    ['a host name with a space', ia5(2, 'www. example.test')],
    ['a relative URL', ia5(6, '/a')],
    ['a URL with a control character', ia5(6, 'https://example.test/\r\nX: y')],
    ['an address of five octets', der.implicitPrimitive(7, new Uint8Array(5))],
    ['an empty name of a directory', der.explicit(4, der.sequence())],
    ['a name of a directory that is none', der.explicit(4, der.sequence(der.utf8String('CN=x')))],
    ['a name of a directory with a control character', der.explicit(4, nameWith('a\u202eb'))],
    ['an identifier that is none', der.implicitPrimitive(8, Uint8Array.of(0x80))],
  ])('%s is refused', (_, name) => {
    expect(outcome([name], all)).toMatch(/^FIELD_INVALID/);
  });

  it('a log-on name is still refused', () => {
    expect(outcome([otherName], all)).toMatch(/^ISSUANCE_REFUSED/);
  });
});

function nameWith(commonName: string): Uint8Array {
  return der.sequence(der.set(der.sequence(der.oid('2.5.4.3'), der.utf8String(commonName))));
}
