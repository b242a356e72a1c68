import type { RevokedColumns } from '../../../src/state/repositories/crls.ts';
import { serialNumberBytes } from '../../../src/state/tables/revocation.ts';

export interface RevokedEntry {
  /** Hexadecimal. */
  readonly serialNumber: string;
  readonly reason: number;
  readonly revokedAt: Date;
}

/** Entries as the state store hands them on. */
export function columnsOf(entries: readonly RevokedEntry[]): RevokedColumns {
  const serialNumbers = new Uint8Array(entries.length * serialNumberBytes);
  for (const [index, { serialNumber }] of entries.entries()) {
    const octets = Buffer.from(serialNumber, 'hex');
    serialNumbers.set(octets, (index + 1) * serialNumberBytes - octets.length);
  }
  return {
    count: entries.length,
    serialNumbers,
    revokedAt: Float64Array.from(entries.map(({ revokedAt }) => revokedAt.getTime())),
    reasons: Uint8Array.from(entries.map(({ reason }) => reason)),
  };
}
