import { signatureAlgorithmOid } from '../../cms/algorithm-identifier.ts';
import { characters, element } from '../../xml/xml-text.ts';
import { documentType } from '../tables/document-types.ts';
import { dayOfHex, isoOfDay } from '../zone/days.ts';
import { parseZone } from '../zone/parse-zone.ts';
import { fieldsInWords } from '../zone/words.ts';
import type { ZoneCurve } from './curves.ts';

/** Namespace of `signed2DDoc`; its schema is `schemas/2ddoc-signed.xsd`. */
export const signedNamespace = 'urn:2d-doc:signed:1';

/** A signed zone. */
export interface SignedZone {
  readonly zone: Uint8Array;
  /** r‖s. */
  readonly signature: Uint8Array;
  readonly curve: ZoneCurve;
  /** DER; undefined if it is not known. */
  readonly certificate: Uint8Array | undefined;
}

/**
 * Returns the document `signed2DDoc` (contract §9), in ASCII: the zone, what it says in words, and
 * its signature.
 */
export function signedDocument({ zone, signature, curve, certificate }: SignedZone): string {
  const { header, fields } = parseZone(zone);
  const { type, issueDate, signatureDate, perimeter, country } = header;
  const members = {
    ...{ ca: header.ca, certificate: header.certificate },
    ...{ issueDate: isoOfHex(issueDate), signatureDate: isoOfHex(signatureDate), perimeter, country },
  };
  const headerElements = Object.entries(members).map(([name, text]) => (text === undefined ? '' : element(name, {}, characters(text))));
  const fieldElements = fields.map((field) => {
    const { id, truncated } = field;
    // The attribute says that the value was cut, so it has no ellipsis.
    const [row] = fieldsInWords([{ ...field, truncated: false }]);
    return element('field', { id, name: row?.name, truncated: truncated ? 'true' : undefined }, characters(row?.value ?? ''));
  });
  const body = element(
    'signed2DDoc',
    { xmlns: signedNamespace, version: header.version },
    element('dataZone', {}, base64(zone)),
    element('header', {}, element('type', { name: documentType(type)?.name }, characters(type)), ...headerElements),
    element('message', {}, ...fieldElements),
    element('signature', { algorithm: signatureAlgorithmOid(curve.algorithm) }, base64(signature)),
    certificate === undefined ? '' : element('certificate', {}, base64(certificate)),
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n${body}\n`;
}

/** Undefined for FFFF, which dates nothing. */
function isoOfHex(hex: string): string | undefined {
  const day = dayOfHex(hex);
  return day === undefined ? undefined : isoOfDay(day);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
