import { checkDer, DerWalk, hexOf, NotFit, tags } from './der-walk.ts';
import { periodDays, readTime } from './times.ts';

/** The parts of a TBSCertificate that decide whether the key may sign it. */
export interface CertificateFacts {
  /** First octet of keyUsage (RFC 5280 4.2.1.3); undefined if there is none. */
  readonly keyUsage: number | undefined;
  /** basicConstraints with cA TRUE (4.2.1.9). */
  readonly isAuthority: boolean;
  /** extendedKeyUsage (4.2.1.12): content octets of each, hexadecimal. */
  readonly purposes: readonly string[];
  /** From notBefore to notAfter. */
  readonly validityDays: number;
}

const versionTag = 0xa0;
const extensionsTag = 0xa3;
const maxSerialNumberBytes = 20;

/** Content octets of the object identifiers of RFC 5280 §4.2.1. */
const oids = {
  keyUsage: '551d0f',
  basicConstraints: '551d13',
  extendedKeyUsage: '551d25',
  anyExtendedKeyUsage: '551d2500',
  timeStamping: '2b06010505070308',
  ocspSigning: '2b06010505070309',
} as const;

const keyCertSignOrCrlSign = 0x06;
/**
 * A responder's revocation status is never checked (id-pkix-ocsp-nocheck), so its certificate
 * cannot be withdrawn. The configuration allows at most 366 days.
 */
const responderMaxDays = 367;
/** Purposes that give a key authority over more than itself. */
const strongPurposes: readonly string[] = [oids.anyExtendedKeyUsage, oids.timeStamping, oids.ocspSigning];

/**
 * Checks for a certificate of a subscriber or an OCSP responder: not a CA's, and not a time-stamp
 * authority's.
 * @throws {NotFit}
 */
export function checkEndEntity(facts: CertificateFacts): void {
  if (isResponder(facts)) {
    checkResponder(facts);
    return;
  }
  checkNoAuthority(facts);
  if (facts.purposes.some((purpose) => strongPurposes.includes(purpose)))
    throw new NotFit('the certificate has a purpose that subscribers must not have');
}

/** Checks for a certificate of an OCSP responder (RFC 6960 4.2.2.2). @throws {NotFit} */
export function checkResponder(facts: CertificateFacts): void {
  checkNoAuthority(facts);
  if (!isResponder(facts)) throw new NotFit("it is not an OCSP responder's certificate");
  if (facts.validityDays > responderMaxDays) throw new NotFit("an OCSP responder's certificate is valid for longer than a year");
}

/** A verifier that is laxer than RFC 5280 may accept a certificate without keyUsage as a CA's. */
function checkNoAuthority({ keyUsage, isAuthority }: CertificateFacts): void {
  if (isAuthority) throw new NotFit("it is a CA's certificate (basicConstraints)");
  if (keyUsage === undefined) throw new NotFit('the certificate has no keyUsage');
  if ((keyUsage & keyCertSignOrCrlSign) !== 0) throw new NotFit("it is a CA's certificate (keyUsage)");
}

function isResponder({ purposes }: CertificateFacts): boolean {
  return purposes.length === 1 && purposes[0] === oids.ocspSigning;
}

/**
 * Reads a TBSCertificate of version 3 (RFC 5280 §4.1) without unique identifiers. `tbs` is inside
 * its SEQUENCE.
 * @throws {NotFit}
 */
export function readCertificate(tbs: DerWalk): CertificateFacts {
  const versions = tbs.inside(versionTag, 'version');
  const version = versions.content(tags.integer, 'version');
  versions.end('version');
  if (version.length !== 1 || version[0] !== 2) throw new NotFit('the certificate is not version 3');
  const serialNumber = tbs.content(tags.integer, 'serialNumber');
  const [first = 0] = serialNumber;
  if (serialNumber.length > maxSerialNumberBytes || first >= 0x80 || (serialNumber.length === 1 && first === 0))
    throw new NotFit('the serial number is not positive, or has more than 20 octets');
  tbs.skip(tags.sequence, 'signature');
  if (tbs.inside(tags.sequence, 'issuer').isAtEnd) throw new NotFit('the certificate has no issuer');
  const validity = tbs.inside(tags.sequence, 'validity');
  const validityDays = periodDays(readTime(validity), readTime(validity));
  validity.end('validity');
  tbs.skip(tags.sequence, 'subject');
  tbs.skip(tags.sequence, 'subjectPublicKeyInfo');
  const facts = readExtensions(tbs.inside(extensionsTag, 'extensions'));
  tbs.end('TBSCertificate');
  return { ...facts, validityDays };
}

/** Refuses a duplicate extension (§4.2): other verifiers may use the second one. */
function readExtensions(wrapper: DerWalk): Omit<CertificateFacts, 'validityDays'> {
  const list = wrapper.inside(tags.sequence, 'extensions');
  wrapper.end('extensions');
  const found = new Map<string, Uint8Array>();
  while (!list.isAtEnd) {
    const extension = list.inside(tags.sequence, 'extension');
    const oid = hexOf(extension.content(tags.objectIdentifier, 'extnID'));
    if (extension.tag === tags.boolean) extension.skip(tags.boolean, 'critical');
    const value = extension.content(tags.octetString, 'extnValue');
    extension.end('extension');
    checkDer(value);
    if (found.has(oid)) throw new NotFit('duplicate extension');
    found.set(oid, value);
  }
  return {
    keyUsage: keyUsageIn(found.get(oids.keyUsage)),
    isAuthority: isAuthorityIn(found.get(oids.basicConstraints)),
    purposes: purposesIn(found.get(oids.extendedKeyUsage)),
  };
}

function keyUsageIn(value: Uint8Array | undefined): number | undefined {
  if (value === undefined) return undefined;
  return new DerWalk(value).content(tags.bitString, 'keyUsage')[1] ?? 0;
}

function isAuthorityIn(value: Uint8Array | undefined): boolean {
  if (value === undefined) return false;
  const constraints = new DerWalk(value).inside(tags.sequence, 'basicConstraints');
  const isAuthority = constraints.tag === tags.boolean && constraints.content(tags.boolean, 'cA')[0] !== 0;
  if (constraints.tag === tags.integer) constraints.skip(tags.integer, 'pathLenConstraint');
  constraints.end('basicConstraints');
  return isAuthority;
}

function purposesIn(value: Uint8Array | undefined): string[] {
  if (value === undefined) return [];
  const list = new DerWalk(value).inside(tags.sequence, 'extendedKeyUsage');
  const purposes: string[] = [];
  while (!list.isAtEnd) purposes.push(hexOf(list.content(tags.objectIdentifier, 'KeyPurposeId')));
  return purposes;
}

/**
 * Checks a CertificationRequestInfo (PKCS #10, RFC 2986 §4.1), which an operator takes to an
 * external root. `info` is inside its SEQUENCE.
 * @throws {NotFit}
 */
export function checkCertificationRequest(info: DerWalk): void {
  const version = info.content(tags.integer, 'version');
  if (version.length !== 1 || version[0] !== 0) throw new NotFit('the request is not version 1');
  if (info.inside(tags.sequence, 'subject').isAtEnd) throw new NotFit('the request has no subject');
  info.skip(tags.sequence, 'subjectPKInfo');
  info.skip(0xa0, 'attributes');
  info.end('CertificationRequestInfo');
}
