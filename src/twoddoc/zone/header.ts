import { documentType, type DocumentType } from '../tables/document-types.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { dayOfHex, undated } from './days.ts';

export type ZoneVersion = '01' | '02' | '03' | '04';

/** A header as it is in the zone (ANTS 2D-Doc v3.2.6, §3.3). */
export interface ZoneHeader {
  readonly version: ZoneVersion;
  /** Identifier of the CA, such as FR03. */
  readonly ca: string;
  /** Identifier of the certificate, four characters. */
  readonly certificate: string;
  /** Hexadecimal days since 2000-01-01 (`dayOfHex`); FFFF: undated. */
  readonly issueDate: string;
  /** As `issueDate`. */
  readonly signatureDate: string;
  /** Code of the document type. */
  readonly type: string;
  /** From version 03. */
  readonly perimeter?: string;
  /** ISO 3166-1 alpha-2, from version 04. */
  readonly country?: string;
}

/** Characters of a header. */
export const headerLengths: Readonly<Record<ZoneVersion, number>> = { '01': 22, '02': 22, '03': 24, '04': 26 };

/**
 * Splits the header off a zone, without a judgement of its members.
 * @throws {TwoDDocFault} for text that does not start with a header of the versions 01 to 04
 */
export function splitHeader(zone: string): { readonly header: ZoneHeader; readonly message: string } {
  checkStart(zone);
  const version = zone.slice(2, 4);
  if (!isVersion(version)) throw new TwoDDocFault(`the version ${JSON.stringify(version)} is not supported; supported: 01 to 04`);
  const length = headerLengths[version];
  if (zone.length < length)
    throw new TwoDDocFault(`the header of version ${version} has ${length} characters, but there are only ${zone.length}`);
  return {
    header: {
      version,
      ca: zone.slice(4, 8),
      certificate: zone.slice(8, 12),
      issueDate: zone.slice(12, 16),
      signatureDate: zone.slice(16, 20),
      type: zone.slice(20, 22),
      ...(length > 22 && { perimeter: zone.slice(22, 24) }),
      ...(length > 24 && { country: zone.slice(24, 26) }),
    },
    message: zone.slice(length),
  };
}

/**
 * Splits the header off a zone that is to be signed, as `splitHeader`.
 * @throws {TwoDDocFault} for text that does not start with a header of the versions 02 to 04
 */
export function splitHeaderToSign(zone: string): ReturnType<typeof splitHeader> {
  checkStart(zone);
  const version = zone.slice(2, 4);
  if (!isVersion(version) || version === '01') {
    const why = version === '01' ? 'version 01 is only read' : `the version ${JSON.stringify(version)} is not supported`;
    throw new TwoDDocFault(`header: ${why}; versions that can be signed: 02, 03 and 04`);
  }
  return splitHeader(zone);
}

function checkStart(zone: string): void {
  if (zone.startsWith('DC')) return;
  const hint = /^(?:\u00ef\u00bb\u00bf)?\s*</.test(zone) ? '; this is XML, such as the source that a zone is made of (dataZoneSource)' : '';
  throw new TwoDDocFault(`a zone starts with DC${hint}`);
}

function isVersion(text: string): text is ZoneVersion {
  return Object.hasOwn(headerLengths, text);
}

/** Writes a header as it is in the zone. */
export function joinHeader(header: ZoneHeader): string {
  const { version, ca, certificate, issueDate, signatureDate, type, perimeter = '', country = '' } = header;
  return `DC${version}${ca}${certificate}${issueDate}${signatureDate}${type}${perimeter}${country}`;
}

/** Returns the type of a header. @throws {TwoDDocFault} if the header breaks a rule */
export function checkHeader(header: ZoneHeader): DocumentType {
  const { ca, certificate, issueDate, signatureDate, type: code, perimeter = '01', country = 'FR' } = header;
  check(/^[A-Z]{2}[A-Z0-9]{2}$/.test(ca), 'CA identifier', ca, 'two letters and two letters or digits');
  check(/^[A-Z0-9]{4}$/.test(certificate), 'certificate identifier', certificate, 'four letters or digits');
  check(perimeter === '01', 'perimeter', perimeter, '01');
  check(/^[A-Z]{2}$/.test(country), 'country', country, 'two letters');
  const type = publicType(code, 'header');
  check(dayOfHex(signatureDate) !== undefined, 'signature date', signatureDate, 'hexadecimal days since 2000-01-01');
  if (type.issueDate === 'undated') check(issueDate === undated, `issue date of type ${code}`, issueDate, undated);
  else check(dayOfHex(issueDate) !== undefined, `issue date of type ${code}`, issueDate, 'hexadecimal days since 2000-01-01');
  return type;
}

function check(isRight: boolean, name: string, value: string, expected: string): void {
  if (!isRight) throw new TwoDDocFault(`header: the ${name} is ${JSON.stringify(value)}, expected: ${expected}`);
}

/**
 * Returns a type whose rules are known. `place` starts the message of a fault.
 * @throws {TwoDDocFault} if there is none
 */
export function publicType(code: string, place: string): DocumentType {
  const type = documentType(code);
  if (type === undefined) throw new TwoDDocFault(`${place}: there is no document type ${JSON.stringify(code)}`);
  if (!type.isPublic)
    throw new TwoDDocFault(`${place}: of type ${code}, only the name (${type.name}) is public, so its fields cannot be checked`);
  return type;
}
