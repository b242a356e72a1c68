import { holdReason } from '../state/tables/revocation.ts';

/**
 * CRLReason (RFC 5280 5.3.1) by the API's names. UNUSED has no code of its own and is published as
 * unspecified.
 */
const reasonCodes = {
  UNSPECIFIED: 0,
  KEY_COMPROMISE: 1,
  CA_COMPROMISE: 2,
  AFFILIATION_CHANGED: 3,
  SUPERSEDED: 4,
  CESSATION_OF_OPERATION: 5,
  CERTIFICATE_HOLD: holdReason,
  UNUSED: 0,
  PRIVILEGE_WITHDRAWN: 9,
  A_A_COMPROMISE: 10,
} as const;

/** `reason` of revokeCertificate, in the API's order. */
export const revocationReasons = [
  'UNSPECIFIED',
  'KEY_COMPROMISE',
  'CA_COMPROMISE',
  'AFFILIATION_CHANGED',
  'SUPERSEDED',
  'CESSATION_OF_OPERATION',
  'CERTIFICATE_HOLD',
  'UNUSED',
  'REMOVE_FROM_CRL',
  'PRIVILEGE_WITHDRAWN',
  'A_A_COMPROMISE',
] as const;
export type RevocationReason = (typeof revocationReasons)[number];

/** Returns the reason code; undefined to release a hold. */
export function reasonCode(reason: RevocationReason): number | undefined {
  return reason === 'REMOVE_FROM_CRL' ? undefined : reasonCodes[reason];
}
