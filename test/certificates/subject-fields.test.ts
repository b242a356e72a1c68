import { describe, expect, test } from 'vitest';
import { subjectName } from '../../src/certificates/subject.ts';
import { SubjectFields } from '../../src/certificates/subject-fields.ts';

const cn = (commonName: string): SubjectFields => ({ country: 'FR', commonName });

const namedField = (identifierType: string, identifier: string, value: string) => ({
  fields: { nameField: [{ identifier, identifierType, value }] },
});

const twice = (...entries: [identifierType: string, identifier: string, value: string][]) => ({
  fields: { nameField: entries.map(([identifierType, identifier, value]) => ({ identifier, identifierType, value })) },
});

describe('refuses as a subject', () => {
  test.each([
    ['an empty common name', { commonName: '' }],
    ['65 characters', { commonName: 'x'.repeat(65) }],
    ['a control character', { commonName: 'a\u0000b' }],
    ['a C1 control character', { organizationName: 'a\u0085b' }],
    ['a space before', { commonName: ' a' }],
    ['a space after', { commonName: 'a ' }],
    ['a lone surrogate', { surName: '\ud800' }],
    ['an empty text', { title: '' }],
    ['a serial number that is not printable', { serialNumber: 'a@b' }],
    ['an unknown country', { country: 'XX' }],
    ['a country in lower case', { country: 'fr' }],
    ['an organisation identifier of another form', { organizationIdentifier: '12345678901' }],
    ['the same through its OID', namedField('OID', '2.5.4.97', 'T')],
    ['the same through its name', namedField('NAME', 'organizationIdentifier', 'T')],
    ['a space before an organisation', { organizationName: ' a' }],
    ['a space after a title', { title: 'a ' }],
    ['a space after a value by name', namedField('NAME', 'ou', 'a ')],
    ['a telephone number with a letter', { phoneNumber: 'Ab1' }],
    ['the same by name', namedField('NAME', 'telephoneNumber', 'Ab1')],
    ['a telephone number of 16 digits', { phoneNumber: '+1234567890123456' }],
    ['a plus within a telephone number', { phoneNumber: '12+34' }],
    ['an override of the order of letters', { commonName: 'a\u202eb' }],
    ['an isolate', { organizationName: 'a\u2067b' }],
    ['a space of no width', { commonName: 'a\u200bb' }],
    ['a byte order mark', { surName: 'a\ufeffb' }],
    ['a line separator', { title: 'a\u2028b' }],
    ['a filler', namedField('OID', '1.2.3.4', '\u3164')],
    ['an unknown member', { surname: 'x' }],
    ['an unknown name', { fields: { nameField: [{ identifier: 'nope', identifierType: 'NAME', value: 'x' }] } }],
    ['a name that every object has', { fields: { nameField: [{ identifier: 'constructor', identifierType: 'NAME', value: 'x' }] } }],
    ['an OID that is none', { fields: { nameField: [{ identifier: '5.1', identifierType: 'OID', value: 'x' }] } }],
    ['a second common name', { fields: { nameField: [{ identifier: 'CN', identifierType: 'NAME', value: 'x' }] } }],
    [
      'a second serial number',
      { serialNumber: '1', fields: { nameField: [{ identifier: '2.5.4.5', identifierType: 'OID', value: '2' }] } },
    ],
    ['a second organisation', { organizationName: 'A', ...namedField('NAME', 'o', 'B') }],
    ['the same organisation again', { organizationName: 'A', ...namedField('OID', '2.5.4.10', 'A') }],
    ['a second given name', { givenName: 'Zoé', ...namedField('NAME', 'gn', 'Camille') }],
    ['a second surname', { surName: 'A', ...namedField('NAME', 'sn', 'B') }],
    ['a second title', { title: 'A', ...namedField('NAME', 'title', 'B') }],
    ['a second locality', { localityName: 'A', ...namedField('NAME', 'l', 'B') }],
    ['an attribute twice among the nameFields', twice(['NAME', 'description', 'A'], ['OID', '2.5.4.13', 'B'])],
    ['an attribute twice that nobody knows', twice(['OID', '1.2.3.4', 'A'], ['OID', '1.2.3.4', 'B'])],
    ['an attribute that is not text', { fields: { nameField: [{ identifier: '2.5.4.45', identifierType: 'OID', value: 'x' }] } }],
  ])('%s', (_, fields) => {
    expect(SubjectFields.safeParse({ ...cn('x'), ...fields }).success).toBe(false);
  });

  test('refuses a field that is given twice', () => {
    const { error } = SubjectFields.safeParse({ ...cn('x'), organizationName: 'A', ...namedField('NAME', 'o', 'B') });
    expect(error?.issues).toMatchObject([
      { path: ['fields', 'nameField', 0, 'identifier'], message: 'duplicate attribute organizationName' },
    ]);
  });

  test('points at the identifier of a nameField', () => {
    const nameField = [
      { identifier: 'ou', identifierType: 'NAME', value: 'x' },
      { identifier: 'nope', identifierType: 'NAME', value: 'x' },
    ];
    const { error } = SubjectFields.safeParse({ ...cn('x'), fields: { nameField } });
    expect(error?.issues.map((issue) => issue.path)).toEqual([['fields', 'nameField', 1, 'identifier']]);
  });

  test('a name that the schema did not catch, at its pointer', () => {
    const fields = { nameField: [{ identifier: 'nope', identifierType: 'NAME' as const, value: 'x' }] };
    expect(() => subjectName({ ...cn('x'), fields })).toThrow('/certificationRequestInfo/PKCS10/subject/fields/nameField/0/identifier');
  });
});

test('takes several units, in either way, and several labels of a domain', () => {
  const fields = twice(['NAME', 'dc', 'org'], ['NAME', 'dc', 'example'], ['NAME', 'ou', 'C'], ['OID', '2.5.4.11', 'D']);
  expect(SubjectFields.safeParse({ ...cn('x'), organizationUnit: ['A', 'B', 'B'], ...fields }).success).toBe(true);
});

test('takes a common name of 64 characters outside of the basic plane', () => {
  expect(SubjectFields.safeParse(cn('😀'.repeat(64))).success).toBe(true);
  expect(SubjectFields.safeParse(cn('😀'.repeat(65))).success).toBe(false);
});

test.each([
  ['a joiner, with which Persian is spelt', { commonName: 'می\u200cخواهم' }],
  ['a variation selector', { commonName: '葛\u{e0100}城' }],
  ['an international telephone number', { phoneNumber: '+33 (0)1 23-45.67/89' }],
  ['a national one', { phoneNumber: '01 23 45 67 89' }],
  ['an organisation identifier by OID', namedField('OID', '2.5.4.97', 'VATFR-12345678901')],
  ['one of a national scheme', { organizationIdentifier: 'SI:FR-552120222' }],
])('takes %s', (_, fields) => {
  expect(SubjectFields.safeParse({ ...cn('x'), ...fields }).error).toBeUndefined();
});

test('describes the form of a country instead of listing them all', () => {
  const { error } = SubjectFields.safeParse({ ...cn('x'), country: 'France' });
  expect(error?.issues.map(({ message }) => message)).toEqual(['not an ISO 3166-1 country code (two upper-case letters)']);
});
