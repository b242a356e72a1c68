import { describe, expect, test } from 'vitest';
import { subjectName } from '../../src/certificates/subject.ts';
import { SubjectFields } from '../../src/certificates/subject-fields.ts';

const cn = (commonName: string): SubjectFields => ({ country: 'FR', commonName });

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
    ['an unknown member', { surname: 'x' }],
    ['an unknown name', { fields: { nameField: [{ identifier: 'nope', identifierType: 'NAME', value: 'x' }] } }],
    ['a name that every object has', { fields: { nameField: [{ identifier: 'constructor', identifierType: 'NAME', value: 'x' }] } }],
    ['an OID that is none', { fields: { nameField: [{ identifier: '5.1', identifierType: 'OID', value: 'x' }] } }],
    ['a second common name', { fields: { nameField: [{ identifier: 'CN', identifierType: 'NAME', value: 'x' }] } }],
    [
      'a second serial number',
      { serialNumber: '1', fields: { nameField: [{ identifier: '2.5.4.5', identifierType: 'OID', value: '2' }] } },
    ],
    ['an attribute that is not text', { fields: { nameField: [{ identifier: '2.5.4.45', identifierType: 'OID', value: 'x' }] } }],
  ])('%s', (_, fields) => {
    expect(SubjectFields.safeParse({ ...cn('x'), ...fields }).success).toBe(false);
  });

  test('points at the identifier of a nameField', () => {
    const nameField = [
      { identifier: 'ou', identifierType: 'NAME', value: 'x' },
      { identifier: 'nope', identifierType: 'NAME', value: 'x' },
    ];
    const { error } = SubjectFields.safeParse({ ...cn('x'), fields: { nameField } });
    expect(error?.issues.map((issue) => issue.path)).toEqual([['fields', 'nameField', 1, 'identifier']]);
  });

  test('a name that slipped past the schema, at its pointer', () => {
    const fields = { nameField: [{ identifier: 'nope', identifierType: 'NAME' as const, value: 'x' }] };
    expect(() => subjectName({ ...cn('x'), fields })).toThrow('/certificationRequestInfo/PKCS10/subject/fields/nameField/0/identifier');
  });
});

test('takes a common name of 64 characters outside of the basic plane', () => {
  expect(SubjectFields.safeParse(cn('😀'.repeat(64))).success).toBe(true);
  expect(SubjectFields.safeParse(cn('😀'.repeat(65))).success).toBe(false);
});
