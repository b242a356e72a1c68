import { TwoDDocFault } from '../two-d-doc-fault.ts';

/** Separators of a code (ANTS 2D-Doc v3.2.6, §3.4). */

/** Ends a value of variable length that is shorter than its maximum. */
export const groupSeparator = '\u001d';
/** Ends a value that was cut. */
export const recordSeparator = '\u001e';
/** Stands between the data zone and the signature, so a zone has none (§3.5). */
export const unitSeparator = '\u001f';

/** Characters that the largest Data Matrix symbol holds in C40: a longer zone fits into no code. */
const zoneMaxCharacters = 3116;

/** @throws {TwoDDocFault} for a zone that no symbol can hold */
export function checkZoneLength(length: number): void {
  if (length > zoneMaxCharacters)
    throw new TwoDDocFault(`the zone has ${length} characters, but the largest symbol holds ${zoneMaxCharacters}`);
}
