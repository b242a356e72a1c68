import type { LongTermData } from './long-term-data.ts';

/** What raises a signature above baseline B, in the terms of no format. */
export interface Additions {
  /** Token of the time-stamp over the signature value, DER. */
  readonly timeStamp: Uint8Array;
  readonly longTermData?: LongTermData | undefined;
  /** Archive time-stamp as the format holds it. */
  readonly archive?: Uint8Array | undefined;
}
