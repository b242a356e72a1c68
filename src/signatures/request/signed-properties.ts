import type { HashName } from '../../token/signature-algorithm.ts';

/** The interface's commitment types. */
export const commitmentTypes = ['APPROVAL', 'ORIGIN', 'DELIVERY', 'RECEIPT', 'SENDER'] as const;
export type CommitmentType = (typeof commitmentTypes)[number];

/** A policy by its identifier, with the hash of its document and where that is found. */
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

/** What is signed beside the document (interface, Signed properties), in the terms of no format. Its parts go together. */
export interface SignedProperties {
  /** SYSTEM: the moment of the signature. A date: what the caller claims. */
  readonly signingTime: 'SYSTEM' | 'NONE' | Date;
  /** Each once. */
  readonly commitments: readonly CommitmentType[];
  /** The signer's reason in words, where no commitment type says it. */
  readonly commitmentText: string | undefined;
  readonly policy: 'NONE' | 'IMPLICIT' | ExplicitPolicy;
  readonly place: ProductionPlace | undefined;
  readonly claimedRoles: readonly string[];
}

/** What is signed where the caller says nothing: the current time. */
export const usualProperties: SignedProperties = {
  signingTime: 'SYSTEM',
  commitments: [],
  commitmentText: undefined,
  policy: 'NONE',
  place: undefined,
  claimedRoles: [],
};
