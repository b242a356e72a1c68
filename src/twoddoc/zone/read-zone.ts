import { dataIdentifier, isFixed, type DataIdentifier } from '../tables/data-identifiers.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { checkHeader, splitHeaderToSign, type ZoneHeader } from './header.ts';
import { checkZoneLength, groupSeparator, recordSeparator, unitSeparator } from './notation.ts';
import { textOf, type ParsedZone, type ZoneField } from './parse-zone.ts';
import { brokenPresence } from './presence-rules.ts';
import { brokenRule } from './value-rules.ts';

/**
 * Reads a zone that is to be signed, versions 02 to 04, in full. A separator behind the last field
 * is accepted, since real codes have it.
 * @throws {TwoDDocFault} for the first rule of the tables that it breaks
 */
export function readZone(bytes: Uint8Array): ParsedZone {
  checkZoneLength(bytes.length);
  const { header, message } = splitHeaderToSign(textOf(bytes));
  if (message.includes(unitSeparator))
    throw new TwoDDocFault('this code is signed already: a US (1F) ends its data zone; createImage2DDoc draws it as signedCode');
  const type = checkHeader(header);
  const fields = readFields(message);
  const broken = brokenPresence(type, fields, (id) => id);
  if (broken !== undefined)
    throw new TwoDDocFault(broken.id === undefined ? `message: ${broken.rule}` : `field ${broken.id}: ${broken.rule}`);
  return { header, fields };
}

/**
 * Reads the header at the start of a zone, versions 02 to 04.
 * @throws {TwoDDocFault} for the first rule that it breaks
 */
export function readHeader(bytes: Uint8Array): ZoneHeader {
  const { header } = splitHeaderToSign(textOf(bytes.subarray(0, 26)));
  checkHeader(header);
  return header;
}

function readFields(message: string): ZoneField[] {
  const fields: ZoneField[] = [];
  for (let at = 0; at < message.length;) {
    const id = message.slice(at, at + 2);
    const identifier = dataIdentifier(id);
    if (identifier === undefined) throw noField(message, at, fields.at(-1));
    const end = valueEnd(message, at + 2, identifier);
    const value = message.slice(at + 2, end);
    const separator = isFixed(identifier) ? undefined : message[end];
    const truncated = separator === recordSeparator;
    const broken = truncated && !identifier.truncatable ? 'must not be cut' : brokenRule(identifier, value, truncated);
    if (broken !== undefined) throw new TwoDDocFault(`field ${id}: ${broken}`);
    fields.push({ id, value, truncated });
    // No separator follows a value of the maximum length, except the one that says it was cut.
    at = truncated || (separator === groupSeparator && value.length !== identifier.maxLength) ? end + 1 : end;
  }
  return fields;
}

/** Returns the offset behind a value: that of its separator, or of the next field. */
function valueEnd(message: string, start: number, identifier: DataIdentifier): number {
  const end = Math.min(message.length, start + (identifier.maxLength ?? message.length));
  if (isFixed(identifier)) return end;
  for (let at = start; at < end; at += 1) if (message[at] === groupSeparator || message[at] === recordSeparator) return at;
  return end;
}

function noField(message: string, at: number, previous: ZoneField | undefined): TwoDDocFault {
  const place = previous === undefined ? 'message' : `after field ${previous.id}`;
  if (!isSeparator(message[at])) return new TwoDDocFault(`${place}: ${JSON.stringify(message.slice(at, at + 2))} is not a data identifier`);
  if (previous === undefined) return new TwoDDocFault(`${place}: a separator is not allowed here, before the first field`);
  const rule = isSeparator(message[at - 1])
    ? 'the value already has one'
    : 'values of a fixed length, or of their maximum length, have none';
  return new TwoDDocFault(`${place}: a separator is not allowed here: ${rule}`);
}

function isSeparator(character: string | undefined): boolean {
  return character === groupSeparator || character === recordSeparator;
}
