import { describe, expect, it } from 'vitest';
import { checkSubject } from '../../src/certificates/subject-rules.ts';
import { SubjectFields } from '../../src/certificates/subject-fields.ts';
import { CertificateProfile } from '../../src/config/profile.ts';
import { Refusal } from '../../src/result-codes.ts';

function outcome(profile: object, subject: object): string {
  try {
    checkSubject(
      CertificateProfile.parse({ keyType: 'P-256', ...profile }),
      SubjectFields.parse({ country: 'FR', commonName: 'x', ...subject }),
    );
    return 'issued';
  } catch (error) {
    if (error instanceof Refusal) return `${error.code} ${error.message}`;
    throw error;
  }
}
const field = (identifier: string, value: string) => ({ fields: { nameField: [{ identifier, identifierType: 'NAME', value }] } });

describe("a profile's rules of subjects", () => {
  it.each<[string, object, object]>([
    ['nothing', {}, {}],
    ['a natural person with a surname', { subject: { person: 'natural' } }, { surName: 'Martin' }],
    ['a natural person with a pseudonym', { subject: { person: 'natural' } }, field('pseudonym', 'zm')],
    ['a legal person', { subject: { person: 'legal' } }, { organizationName: 'O', organizationIdentifier: 'NTRFR-552120222' }],
    ['a serial number that says what it is', { qcStatements: { semantics: 'natural' } }, { serialNumber: 'PNOFR-123456789' }],
    ['a required attribute in a nameField', { subject: { required: ['postalCode'] } }, field('postalCode', '75001')],
    ['an allowed attribute', { subject: { allowed: ['2.5.4.10'] } }, { organizationName: 'O' }],
    ['an e-mail address that is allowed', { subject: { allowed: ['emailAddress'] } }, field('email', 'z@example.test')],
    ['an e-mail address that is required', { subject: { required: ['1.2.840.113549.1.9.1'] } }, field('e', 'z@example.test')],
    ['an allowed country', { subject: { countries: ['FR'] } }, {}],
  ])('let pass %s', (_, profile, subject) => {
    expect(outcome(profile, subject)).toBe('issued');
  });

  it.each<[string, object, object, string]>([
    ['a natural person without a name', { subject: { person: 'natural' } }, {}, 'person: natural'],
    [
      'a natural person with name and pseudonym',
      { subject: { person: 'natural' } },
      { surName: 'Martin', ...field('pseudonym', 'zm') },
      'person: natural',
    ],
    ['a legal person without identifier', { subject: { person: 'legal' } }, { organizationName: 'O' }, 'person: legal'],
    [
      'a legal person whose identifier is its name',
      { subject: { person: 'legal' } },
      { organizationIdentifier: 'NTRFR-1', ...field('o', 'NTRFR-1') },
      'must differ from organizationName',
    ],
    ['an e-mail address where nothing is said of it', {}, field('emailAddress', 'z@example.test'), 'subject.allowed'],
    [
      'an e-mail address by its identifier',
      {},
      { fields: { nameField: [{ identifier: '1.2.840.113549.1.9.1', identifierType: 'OID', value: 'z@example.test' }] } },
      'emailAddress',
    ],
    ['an e-mail address that is not among the allowed', { subject: { allowed: ['o'] } }, field('e', 'z@example.test'), 'emailAddress'],
    ['a serial number of no known kind', { qcStatements: { semantics: 'natural' } }, { serialNumber: '123' }, 'semantics: natural'],
    ['no organisation identifier', { qcStatements: { semantics: 'legal' } }, {}, 'semantics: legal'],
    ['a missing attribute', { subject: { required: ['organizationName'] } }, {}, 'organizationName'],
    [
      'a unit where only an organisation is allowed',
      { subject: { allowed: ['organizationName'] } },
      { organizationUnit: ['A'] },
      '2.5.4.11',
    ],
    ['another country', { subject: { countries: ['DE'] } }, {}, 'DE'],
  ])('refuse %s, naming the rule', (_, profile, subject, part) => {
    const said = outcome(profile, subject);
    expect(said).toMatch(/^ISSUANCE_REFUSED \/certificationRequestInfo/);
    expect(said).toContain(part);
  });
});
