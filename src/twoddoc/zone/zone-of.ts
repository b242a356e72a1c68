import type { ZoneSource } from '../source/zone-source.ts';
import { dataIdentifier } from '../tables/data-identifiers.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { dayOfIso, hexOfDay, undated } from './days.ts';
import { joinHeader } from './header.ts';
import type { ZoneField } from './parse-zone.ts';
import { checkZoneLength, groupSeparator, recordSeparator } from './notation.ts';

/** For the members of a header that its source does not have. */
export interface HeaderFill {
  readonly ca: string;
  readonly certificate: string;
  /** The date of the signature: the day in UTC. */
  readonly today: Date;
}

/**
 * Returns the zone of a source: header and message, exactly as they are signed (ANTS 2D-Doc v3.2.6,
 * §3.3 and §3.4).
 * @throws {TwoDDocFault} for a zone that no symbol can hold
 */
export function zoneOf(source: ZoneSource, fill: HeaderFill): Uint8Array {
  const { version, type, header, fields } = source;
  const zone =
    joinHeader({
      version,
      ca: header.ca ?? fill.ca,
      certificate: header.certificate ?? fill.certificate,
      issueDate: header.issueDate === undefined ? undated : hexOf('issueDate', dayOfIso(header.issueDate)),
      signatureDate: hexOf('signatureDate', header.signatureDate === undefined ? fill.today : dayOfIso(header.signatureDate)),
      type,
      ...(version !== '02' && { perimeter: '01' }),
      ...(version === '04' && { country: header.country ?? 'FR' }),
    }) + joinFields(fields);
  checkZoneLength(zone.length);
  return Buffer.from(zone, 'latin1');
}

/**
 * Returns the fields of the annex, without the separator before them; undefined if there are none.
 */
export function annexOf({ annex }: ZoneSource): Uint8Array | undefined {
  return annex.length === 0 ? undefined : Buffer.from(joinFields(annex), 'latin1');
}

function hexOf(name: string, day: Date | undefined): string {
  const hex = day === undefined ? undefined : hexOfDay(day);
  if (hex === undefined) throw new TwoDDocFault(`${name}: not a day from 2000-01-01 to 2179-06-05`);
  return hex;
}

function joinFields(fields: readonly ZoneField[]): string {
  return fields.map((field, index) => `${field.id}${field.value}${separatorAfter(field, index === fields.length - 1)}`).join('');
}

function separatorAfter({ id, value, truncated }: ZoneField, isLast: boolean): string {
  if (truncated) return recordSeparator;
  return isLast || value.length === dataIdentifier(id)?.maxLength ? '' : groupSeparator;
}
