import { TwoDDocFault } from '../two-d-doc-fault.ts';

/** Characters that the largest Data Matrix symbol holds in C40: a longer zone fits into no code. */
const zoneMaxCharacters = 3116;

/** @throws {TwoDDocFault} for a zone that no symbol can hold */
export function checkZoneLength(length: number): void {
  if (length > zoneMaxCharacters)
    throw new TwoDDocFault(`the zone has ${length} characters, but the largest symbol holds ${zoneMaxCharacters}`);
}
