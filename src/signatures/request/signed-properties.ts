import type { HashName } from '../../token/signature-algorithm.ts';

/** The interface's commitment types. */
export const commitmentTypes = ['APPROVAL', 'ORIGIN', 'DELIVERY', 'RECEIPT', 'SENDER'] as const;
export type CommitmentType = (typeof commitmentTypes)[number];

/** A policy identifier, with the digest and the URL of the policy document. */
export interface ExplicitPolicy {
  readonly oid: string;
  readonly hash: HashName;
  readonly digest: Uint8Array;
  /** In ASCII. */
  readonly url: string;
}

export interface ProductionPlace {
  readonly city: string | undefined;
  readonly stateOrProvince: string | undefined;
  readonly postalCode: string | undefined;
  /** ISO 3166-1 alpha-2. */
  readonly countryCode: string;
}

/**
 * Properties signed with the document (interface, Signed properties), independent of the format and
 * consistent with each other.
 */
export interface SignedProperties {
  /** SYSTEM: the current time. A date: the time claimed by the caller. */
  readonly signingTime: 'SYSTEM' | 'NONE' | Date;
  /** Without duplicates. */
  readonly commitments: readonly CommitmentType[];
  /** Reason for signing in words; undefined if there is a commitment type. */
  readonly commitmentText: string | undefined;
  readonly policy: 'NONE' | 'IMPLICIT' | ExplicitPolicy;
  readonly place: ProductionPlace | undefined;
  readonly claimedRoles: readonly string[];
}

/** The default: only the current time. */
export const usualProperties: SignedProperties = {
  signingTime: 'SYSTEM',
  commitments: [],
  commitmentText: undefined,
  policy: 'NONE',
  place: undefined,
  claimedRoles: [],
};
