import rows from './data-identifiers.json' with { type: 'json' };

/** How the value of a field is written (ANTS 2D-Doc v3.2.6, §7). */
export type FieldFormat =
  | 'text'
  | 'enum'
  | 'eori'
  | 'country_alpha2'
  | 'year'
  | 'date_hex'
  | 'date_ddmmyyyy'
  | 'date_yyyymmdd'
  | 'datetime_ddmmyyyyHHMM'
  | 'datetime_ddmmyyyyHHMMSS'
  | 'time_HHMM'
  | 'time_HHMMSS'
  | 'bool_01'
  | 'decimal_comma'
  | 'decimal_comma_unsigned'
  | 'hex_uint'
  | 'base36_digit'
  | 'base32_utf8'
  | 'uuid_space'
  | 'postcode_or_spaces';

/** A data identifier. Lengths count characters of the zone. */
export interface DataIdentifier {
  /** Two characters. */
  readonly id: string;
  /** In French, as in the specification. */
  readonly name: string;
  /** Section of the table, such as 7.1. */
  readonly section: string;
  readonly minLength: number;
  /**
   * Null: as long as the code has room. Equal to `minLength`: a fixed length, without a separator.
   */
  readonly maxLength: number | null;
  readonly format: FieldFormat;
  /** Ranges and characters, such as `A-Z0-9 /-`. */
  readonly charset: string;
  /** Whether a source may have the value cut to its maximum length. */
  readonly truncatable: boolean;
  /** Whether a shorter number gets zeros on the left. */
  readonly zeroPadded?: boolean;
  /** The values of `enum`. */
  readonly values?: readonly string[];
  /** Whether there are no other values. */
  readonly valuesClosed?: boolean;
  /**
   * Dates beyond those of the calendar: `incomplete` with 00 for the day, or for the day and the
   * month; `lunar` with days to 30 and months to 50.
   */
  readonly dates?: 'incomplete' | 'lunar';
}

const table = rows as readonly DataIdentifier[];
const byId = new Map(table.map((row) => [row.id, row]));

/** Returns all data identifiers of the perimeter 01. */
export function dataIdentifiers(): readonly DataIdentifier[] {
  return table;
}

/** Returns a data identifier of the perimeter 01. */
export function dataIdentifier(id: string): DataIdentifier | undefined {
  return byId.get(id);
}

/** Checks whether the values of a field all have one length, so that no separator follows. */
export function isFixed({ minLength, maxLength }: DataIdentifier): boolean {
  return minLength === maxLength;
}
