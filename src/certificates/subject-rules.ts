import { oids } from '../asn1/object-identifiers.ts';
import { Refusal } from '../result-codes.ts';
import type { CertificateProfile } from '../config/profile.ts';
import { attributeTypeOfName, attributeTypeOfOid } from './attribute-types.ts';
import { attributesOf, nameFieldType, type SubjectFields } from './subject-fields.ts';

const always = [oids.commonName, oids.countryName] as const;

const subjectAt = '/certificationRequestInfo/PKCS10/subject';

/**
 * ETSI EN 319 412-1 5.1.3: type of identity, country, hyphen, reference; or two characters and a
 * colon of a national scheme.
 */
const naturalIdentifierForm = /^(?:(?:PAS|IDC|PNO|TAX|TIN)[A-Z]{2}|[A-Za-z0-9]{2}:[A-Z]{2})-.+$/;

/**
 * Checks that the profile allows the subject.
 * @throws {Refusal} ISSUANCE_REFUSED naming the rule
 */
export function checkSubject(
  { subject: rules, qcStatements }: Pick<CertificateProfile, 'subject' | 'qcStatements'>,
  subject: SubjectFields,
): void {
  const required = rules.required.map(oidOf);
  const allowed = rules.allowed === undefined ? undefined : new Set<string>([...always, ...rules.allowed.map(oidOf), ...required]);
  const present = attributesOf(subject);
  const has = (oid: string): boolean => present.has(oid);
  const { person } = rules;
  if (person === 'natural' && !has(oids.pseudonym) && !has(oids.givenName) && !has(oids.surname)) {
    throw refused('person: natural', 'givenName, surName or a pseudonym is required (ETSI EN 319 412-2 4.2.4)');
  }
  if (person === 'natural' && has(oids.pseudonym) && (has(oids.givenName) || has(oids.surname))) {
    throw refused('person: natural', 'a pseudonym excludes givenName and surName (ETSI EN 319 412-2 4.2.4)');
  }
  if (person === 'legal' && !(has(oids.organizationName) && has(oids.organizationIdentifier))) {
    throw refused('person: legal', 'organizationName and organizationIdentifier are required (ETSI EN 319 412-3 4.2.1)');
  }
  if (person === 'legal') checkLegalPerson(subject);
  if (qcStatements?.semantics === 'natural' && !naturalIdentifierForm.test(subject.serialNumber ?? '')) {
    throw refused('semantics: natural', 'serialNumber is required, such as PNOFR-123456789 (ETSI EN 319 412-1 5.1.3)');
  }
  if (qcStatements?.semantics === 'legal' && !has(oids.organizationIdentifier)) {
    throw refused('semantics: legal', 'organizationIdentifier is required (ETSI EN 319 412-1 5.1.4)');
  }
  for (const [index, oid] of required.entries()) {
    if (!has(oid)) throw refused('required', `the attribute ${rules.required[index] ?? oid} is required`);
  }
  if (rules.countries !== undefined && !rules.countries.includes(subject.country)) {
    throw refused('countries', `the country must be one of ${rules.countries.join(', ')}`);
  }
  // Relying parties assume that the authority has verified the address; signetd has not.
  if (has(oids.emailAddress) && allowed?.has(oids.emailAddress) !== true && !required.includes(oids.emailAddress)) {
    throw refused('allowed', 'the attribute emailAddress must be listed to be allowed');
  }
  if (allowed === undefined) return;
  const extra = [...present].find((oid) => !allowed.has(oid));
  if (extra !== undefined) throw refused('allowed', `the attribute ${extra} is not allowed`);
}

/** ETSI EN 319 412-3 4.2.1: the identifier differs from the name. */
function checkLegalPerson({ organizationName, organizationIdentifier, fields }: SubjectFields): void {
  const further = (fields?.nameField ?? []).filter((field) => nameFieldType(field)?.oid === oids.organizationName);
  const names = [organizationName, ...further.map(({ value }) => value)];
  if (names.includes(organizationIdentifier)) throw refused('person: legal', 'organizationIdentifier must differ from organizationName');
}

/** Thrown if a profile names an attribute that does not exist, which is a configuration fault. */
export class SubjectRulesError extends Error {}

/** @throws {SubjectRulesError} */
function oidOf(name: string): string {
  const type = attributeTypeOfName(name) ?? attributeTypeOfOid(name);
  if (type === undefined)
    throw new SubjectRulesError(`subject: "${name}" is neither an RFC 4519 attribute nor the OID of a text attribute`);
  return type.oid;
}

function refused(rule: string, fault: string): Refusal {
  return new Refusal('ISSUANCE_REFUSED', { at: subjectAt, message: `${fault}; rule subject.${rule} of the profile` });
}
