import { oids } from '../../asn1/object-identifiers.ts';
import { isWellFormedDer } from '../../asn1/well-formed.ts';
import { children, readAll } from '../../asn1/reader.ts';
import { keyIdentifier } from '../../x509/certificate.ts';
import { nameFault } from '../name-fault.ts';
import { extensionRules, responderRule } from './extension-rules.ts';
import type { Rule } from './rule.ts';

/** Signature value and encoding overhead, for the largest key that an authority may have. */
const maxSignatureBytes = 540;
/** Smart cards and devices accept only small certificates; this is ten times the usual size. */
export const maxCertificateBytes = 16_384;

const same = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0;

const certificateRules: readonly Rule[] = [
  {
    name: 'certificate-size',
    source: 'this service',
    fault: ({ tbsBytes }) =>
      tbsBytes + maxSignatureBytes > maxCertificateBytes
        ? `the certificate would have ${tbsBytes + maxSignatureBytes} octets; the maximum is ${maxCertificateBytes}`
        : undefined,
  },
  {
    name: 'version-3',
    source: 'RFC 5280 4.1.2.1',
    fault: ({ tbs }) => (tbs.version === 2 ? undefined : `version ${tbs.version + 1}`),
  },
  {
    name: 'serial-number',
    source: 'RFC 5280 4.1.2.2',
    fault({ tbs: { serialNumber } }) {
      if (serialNumber.length > 20) return 'more than 20 octets';
      return (serialNumber[0] ?? 0) >= 0x80 || serialNumber.every((octet) => octet === 0) ? 'not positive' : undefined;
    },
  },
  {
    name: 'issuer-name',
    source: 'RFC 5280 4.1.2.4',
    fault: ({ tbs, issuer }) => (same(tbs.issuer, issuer.subject) ? undefined : "does not match the issuing authority's name"),
  },
  {
    name: 'subject-name',
    source: 'RFC 5280 4.1.2.6, X.520',
    fault: ({ tbs }) => nameFault(tbs.subject),
  },
  {
    name: 'subject-is-not-issuer',
    source: 'RFC 5280 3.2',
    fault: ({ tbs }) => (same(tbs.subject, tbs.issuer) ? "the subject is the issuing authority's own name" : undefined),
  },
  {
    name: 'validity',
    source: 'RFC 5280 4.1.2.5, 6.1',
    fault({ tbs, issuer }) {
      if (tbs.notAfter <= tbs.notBefore) return 'ends before it begins';
      if (tbs.notBefore < issuer.notBefore) return "begins before the authority's own certificate";
      return tbs.notAfter > issuer.notAfter ? "ends after the authority's own certificate" : undefined;
    },
  },
  {
    name: 'extensions-are-der',
    source: 'RFC 5280 4.2, X.690',
    fault({ tbs }) {
      const wrong = [...tbs.extensions.values()].find(({ value }) => !isWellFormedDer(value));
      return wrong === undefined ? undefined : `the value of ${wrong.oid} is not one element in DER`;
    },
  },
  {
    name: 'authority-key-identifier',
    source: 'RFC 5280 4.2.1.1',
    fault({ tbs, issuer }) {
      const extension = tbs.extensions.get(oids.authorityKeyIdentifier);
      if (extension === undefined || extension.critical) return 'it is absent, or critical';
      const [identifier] = children(readAll(extension.value));
      const expected = issuer.subjectKeyIdentifier ?? keyIdentifier(issuer.subjectPublicKeyInfo);
      return identifier?.tag === 0x80 && same(identifier.content, expected) ? undefined : "does not match the authority's key identifier";
    },
  },
  {
    name: 'subject-key-identifier',
    source: 'RFC 5280 4.2.1.2',
    fault({ tbs }) {
      const extension = tbs.extensions.get(oids.subjectKeyIdentifier);
      if (extension === undefined || extension.critical) return 'it is absent, or critical';
      return same(readAll(extension.value).content, keyIdentifier(tbs.subjectPublicKeyInfo)) ? undefined : 'does not match the key';
    },
  },
];

/** In the order in which they are applied; the first broken rule is reported. */
export const rules: readonly Rule[] = [...certificateRules, ...extensionRules];

/** Rules for a delegated OCSP responder, which has what a document signer may not have. */
export const responderRules: readonly Rule[] = [
  ...rules.filter(({ name }) => name !== 'extensions-of-authorities' && name !== 'extended-key-usage'),
  responderRule,
];
