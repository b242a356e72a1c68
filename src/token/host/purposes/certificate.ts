import { checkDer, DerWalk, hexOf, NotFit, tags } from './der-walk.ts';
import { periodDays, readTime } from './times.ts';

/** What of a TBSCertificate decides who may have it signed. */
export interface CertificateFacts {
  /** keyUsage (RFC 5280 4.2.1.3), its first octet; undefined where there is none. */
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
/** Nobody asks for the status of a responder (id-pkix-ocsp-nocheck): what is certified once stays so. The longest of the configuration is 366 days. */
const responderMaxDays = 367;
/** Who has one of these for a key speaks for more than the key. */
const strongPurposes: readonly string[] = [oids.anyExtendedKeyUsage, oids.timeStamping, oids.ocspSigning];

/** A certificate of a subscriber or of an OCSP responder: no CA's, and no time-stamp authority's. @throws {NotFit} */
export function checkEndEntity(facts: CertificateFacts): void {
  if (isResponder(facts)) {
    checkResponder(facts);
    return;
  }
  checkNoAuthority(facts);
  if (facts.purposes.some((purpose) => strongPurposes.includes(purpose)))
    throw new NotFit('a certificate for a purpose that subscribers do not have');
}

/** The certificate of an OCSP responder (RFC 6960 4.2.2.2). @throws {NotFit} */
export function checkResponder(facts: CertificateFacts): void {
  checkNoAuthority(facts);
  if (!isResponder(facts)) throw new NotFit("a certificate other than an OCSP responder's");
  if (facts.validityDays > responderMaxDays) throw new NotFit('an OCSP responder for longer than a year');
}

/** Without keyUsage a certificate may pass for a CA's with somebody who goes by less than RFC 5280. */
function checkNoAuthority({ keyUsage, isAuthority }: CertificateFacts): void {
  if (isAuthority) throw new NotFit("a CA's certificate (basicConstraints)");
  if (keyUsage === undefined) throw new NotFit('a certificate without keyUsage');
  if ((keyUsage & keyCertSignOrCrlSign) !== 0) throw new NotFit("a CA's certificate (keyUsage)");
}

function isResponder({ purposes }: CertificateFacts): boolean {
  return purposes.length === 1 && purposes[0] === oids.ocspSigning;
}

/** Reads a TBSCertificate of version 3 (RFC 5280 §4.1) without unique identifiers. `tbs` is inside of its SEQUENCE. @throws {NotFit} */
export function readCertificate(tbs: DerWalk): CertificateFacts {
  const versions = tbs.inside(versionTag, 'version');
  const version = versions.content(tags.integer, 'version');
  versions.end('version');
  if (version.length !== 1 || version[0] !== 2) throw new NotFit('a certificate of another version than 3');
  const serialNumber = tbs.content(tags.integer, 'serialNumber');
  const [first = 0] = serialNumber;
  if (serialNumber.length > maxSerialNumberBytes || first >= 0x80 || (serialNumber.length === 1 && first === 0))
    throw new NotFit('a serial number that is not positive, or has more than 20 octets');
  tbs.skip(tags.sequence, 'signature');
  if (tbs.inside(tags.sequence, 'issuer').isAtEnd) throw new NotFit('a certificate without issuer');
  const validity = tbs.inside(tags.sequence, 'validity');
  const validityDays = periodDays(readTime(validity), readTime(validity));
  validity.end('validity');
  tbs.skip(tags.sequence, 'subject');
  tbs.skip(tags.sequence, 'subjectPublicKeyInfo');
  const facts = readExtensions(tbs.inside(extensionsTag, 'extensions'));
  tbs.end('TBSCertificate');
  return { ...facts, validityDays };
}

/** A repeated extension is refused (§4.2): others may go by the second. */
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
    if (found.has(oid)) throw new NotFit('an extension that stands twice');
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

/** CertificationRequestInfo (PKCS #10, RFC 2986 §4.1), which an operator brings to a root elsewhere. `info` is inside of its SEQUENCE. @throws {NotFit} */
export function checkCertificationRequest(info: DerWalk): void {
  const version = info.content(tags.integer, 'version');
  if (version.length !== 1 || version[0] !== 0) throw new NotFit('a request of another version than 1');
  if (info.inside(tags.sequence, 'subject').isAtEnd) throw new NotFit('a request without subject');
  info.skip(tags.sequence, 'subjectPKInfo');
  info.skip(0xa0, 'attributes');
  info.end('CertificationRequestInfo');
}
