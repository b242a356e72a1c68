import { DerError, readAll } from '../../asn1/reader.ts';
import { Refusal } from '../../result-codes.ts';
import { readTbsCertificate } from '../../x509/tbs-certificate.ts';
import type { Certificate } from '../../x509/certificate.ts';
import type { Rule, Subject } from './rule.ts';
import { responderRules, rules } from './rules.ts';

/**
 * Parses the encoded TBSCertificate of an end entity and applies every rule to it before it is
 * signed.
 * @throws {Refusal} ISSUANCE_REFUSED with the name and source of the broken rule.
 */
export function lintCertificate(tbs: Uint8Array, issuer: Certificate): void {
  apply(rules, tbs, issuer);
}

/** Does the same for the certificate of a delegated OCSP responder. */
export function lintResponderCertificate(tbs: Uint8Array, issuer: Certificate): void {
  apply(responderRules, tbs, issuer);
}

function apply(all: readonly Rule[], tbs: Uint8Array, issuer: Certificate): void {
  const subject: Subject = { tbs: read(tbs), tbsBytes: tbs.length, issuer };
  for (const rule of all) {
    const found = faultOrNotReadable(() => rule.fault(subject));
    if (found !== undefined) throw refused(rule.name, rule.source, found);
  }
}

function read(tbs: Uint8Array): Subject['tbs'] {
  try {
    return readTbsCertificate(readAll(tbs));
  } catch (error) {
    if (error instanceof DerError) throw refused('structure', 'RFC 5280 4.1', error.message);
    throw error;
  }
}

function faultOrNotReadable(check: () => string | undefined): string | undefined {
  try {
    return check();
  } catch (error) {
    if (error instanceof DerError) return `not readable: ${error.message}`;
    throw error;
  }
}

function refused(name: string, source: string, fault: string): Refusal {
  return new Refusal('ISSUANCE_REFUSED', { message: `lint rule ${name} (${source}): ${fault}` });
}
