import { oids } from '../../asn1/object-identifiers.ts';
import { children, readAll, readObjectIdentifier, type DerElement } from '../../asn1/reader.ts';
import { alternativeNames } from '../alternative-names.ts';
import { extensionOf, type Rule, type Subject } from './rule.ts';

/**
 * Extensions for certificates of authorities or, for no-check, of OCSP responders (RFC 5280, RFC
 * 6960).
 */
const authoritiesOnly: ReadonlyMap<string, string> = new Map([
  [oids.nameConstraints, 'nameConstraints'],
  [oids.policyMappings, 'policyMappings'],
  [oids.policyConstraints, 'policyConstraints'],
  [oids.inhibitAnyPolicy, 'inhibitAnyPolicy'],
  [oids.ocspNoCheck, 'id-pkix-ocsp-nocheck'],
]);

/**
 * Purposes that a signer's certificate may not have: with them it would pass for another kind of
 * authority.
 */
const forbiddenPurposes: ReadonlyMap<string, string> = new Map([
  [oids.anyExtendedKeyUsage, 'anyExtendedKeyUsage'],
  [oids.ocspSigning, 'OCSPSigning'],
  [oids.timeStamping, 'timeStamping'],
]);

const neverCritical: ReadonlySet<string> = new Set([
  oids.subjectDirectoryAttributes,
  oids.subjectAltName,
  oids.certificatePolicies,
  oids.crlDistributionPoints,
  oids.authorityInfoAccess,
  oids.qcStatements,
  oids.extendedKeyUsage,
]);

export const extensionRules: readonly Rule[] = [
  {
    name: 'no-authority',
    source: 'RFC 5280 4.2.1.9',
    fault(subject) {
      const constraints = extensionOf(subject, oids.basicConstraints);
      return constraints === undefined || readAll(constraints.value).content.length === 0
        ? undefined
        : 'basicConstraints are those of an authority';
    },
  },
  {
    name: 'extensions-of-authorities',
    source: 'RFC 5280 4.2.1.5, 4.2.1.10, 4.2.1.11, 4.2.1.14; RFC 6960 4.2.2.2.1',
    fault({ tbs }) {
      const found = [...tbs.extensions.keys()].flatMap((oid) => authoritiesOnly.get(oid) ?? []);
      return found[0];
    },
  },
  {
    name: 'criticality',
    source: 'RFC 5280 4.2.1; RFC 3739 3.2.6',
    fault({ tbs }) {
      const wrong = [...tbs.extensions.values()].find(({ oid, critical }) => critical && neverCritical.has(oid));
      return wrong === undefined ? undefined : `${wrong.oid} is critical`;
    },
  },
  { name: 'key-usage', source: 'RFC 5280 4.2.1.3, RFC 8813 3', fault: keyUsageFault },
  { name: 'extended-key-usage', source: 'RFC 5280 4.2.1.12', fault: purposesFault },
  {
    name: 'certificate-policies',
    source: 'RFC 5280 4.2.1.4',
    fault(subject) {
      const extension = extensionOf(subject, oids.certificatePolicies);
      if (extension === undefined) return undefined;
      const policies = children(readAll(extension.value)).map((information) => readObjectIdentifier(firstOf(information)));
      if (policies.length === 0) return 'an empty list';
      return new Set(policies).size < policies.length ? 'duplicate policy' : undefined;
    },
  },
  {
    name: 'subject-alternative-name',
    source: 'RFC 5280 4.2.1.6',
    fault(subject) {
      const extension = extensionOf(subject, oids.subjectAltName);
      if (extension === undefined) return undefined;
      const names = alternativeNames(extension.value);
      if (names === undefined) return 'not GeneralNames';
      const wrong = names.find(({ fault }) => fault !== undefined);
      return wrong === undefined ? undefined : `${wrong.kind}: ${wrong.fault ?? ''}`;
    },
  },
  {
    name: 'subject-directory-attributes',
    source: 'RFC 5280 4.2.1.8',
    fault(subject) {
      const extension = extensionOf(subject, oids.subjectDirectoryAttributes);
      if (extension === undefined) return undefined;
      const attributes = children(readAll(extension.value));
      if (attributes.length === 0) return 'an empty list';
      return attributes.every((attribute) => children(attribute)[1]?.tag === 0x31) ? undefined : 'not a list of Attribute';
    },
  },
];

export const responderRule: Rule = {
  name: 'ocsp-responder',
  source: 'RFC 6960 4.2.2.2',
  fault(subject) {
    const purposes = extensionOf(subject, oids.extendedKeyUsage);
    const found = purposes === undefined ? [] : children(readAll(purposes.value)).map(readObjectIdentifier);
    if (found.length !== 1 || found[0] !== oids.ocspSigning) return 'OCSPSigning must be its only purpose';
    return extensionOf(subject, oids.ocspNoCheck) === undefined ? 'id-pkix-ocsp-nocheck is missing' : undefined;
  },
};

function firstOf(element: DerElement): DerElement {
  const [first = element] = children(element);
  return first;
}

const bit = (bits: Uint8Array, index: number): boolean => ((bits[1 + (index >> 3)] ?? 0) & (0x80 >> (index & 7))) !== 0;

function keyUsageFault(subject: Subject): string | undefined {
  const extension = extensionOf(subject, oids.keyUsage);
  if (extension === undefined) return 'missing';
  if (!extension.critical) return 'not critical';
  const { tag, content } = readAll(extension.value);
  if (tag !== 0x03 || !content.subarray(1).some((octet) => octet !== 0)) return 'no bit is set';
  if (bit(content, 5) || bit(content, 6)) return 'keyCertSign and cRLSign are for authorities only';
  if (!bit(content, 0) && !bit(content, 1)) return 'digitalSignature or contentCommitment is required';
  const [algorithm] = children(readAll(subject.tbs.subjectPublicKeyInfo));
  const isEllipticCurve = algorithm !== undefined && readObjectIdentifier(firstOf(algorithm)) === oids.ecPublicKey;
  if (!isEllipticCurve) return undefined;
  const encipherment = bit(content, 2) ? 'keyEncipherment' : bit(content, 3) ? 'dataEncipherment' : undefined;
  return encipherment === undefined ? undefined : `${encipherment} is not allowed for an elliptic-curve key`;
}

function purposesFault(subject: Subject): string | undefined {
  const extension = extensionOf(subject, oids.extendedKeyUsage);
  if (extension === undefined) return undefined;
  const purposes = children(readAll(extension.value)).map(readObjectIdentifier);
  if (purposes.length === 0) return 'an empty list';
  if (new Set(purposes).size < purposes.length) return 'duplicate purpose';
  const forbidden = purposes.flatMap((purpose) => forbiddenPurposes.get(purpose) ?? []);
  return forbidden[0] === undefined ? undefined : `${forbidden[0]} is not allowed for document signers`;
}
