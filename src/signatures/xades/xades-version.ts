import type { Canonicalisation } from '../../xml/canonicalisation.ts';

/** What differs between the versions of XAdES. */
export interface XadesVersionRules {
  /** Namespace of the base elements. */
  readonly namespace: string;
  /** Type of the reference to the signed properties. */
  readonly signedPropertiesType: string;
  /**
   * Whether the elements of EN 319 132-1 replace the earlier ones: SigningCertificateV2 and others.
   */
  readonly hasV2: boolean;
  /** Whether digests stand in elements of the XAdES namespace instead of that of XML Signature. */
  readonly hasOwnDigest: boolean;
  /** Start of the identifiers of commitment types. */
  readonly commitmentBase: string;
  /**
   * How a time-stamp names what it covers: TS 101 903 1.1.1 §7.1, 1.2.2 §7.1.2, EN 319 132-1
   * §5.1.4.
   */
  readonly timeStampCovers: 'HASH_DATA_INFO' | 'INCLUDE' | 'IMPLIED';
}

const etsi = 'http://uri.etsi.org/01903';

const current: XadesVersionRules = {
  namespace: `${etsi}/v1.3.2#`,
  signedPropertiesType: `${etsi}#SignedProperties`,
  hasV2: true,
  hasOwnDigest: false,
  commitmentBase: `${etsi}/v1.2.2#`,
  timeStampCovers: 'IMPLIED',
};

export const xadesVersions = {
  VERSION_1_1_1: {
    namespace: `${etsi}/v1.1.1#`,
    signedPropertiesType: `${etsi}/v1.1.1#SignedProperties`,
    hasV2: false,
    hasOwnDigest: true,
    commitmentBase: `${etsi}/v1.1.1#`,
    timeStampCovers: 'HASH_DATA_INFO',
  },
  VERSION_1_2_2: {
    namespace: `${etsi}/v1.2.2#`,
    signedPropertiesType: `${etsi}/v1.2.2#SignedProperties`,
    hasV2: false,
    hasOwnDigest: false,
    commitmentBase: `${etsi}/v1.2.2#`,
    timeStampCovers: 'INCLUDE',
  },
  VERSION_1_3_2: current,
  // It adds unsigned properties to 1.3.2, and nothing else.
  VERSION_1_4_1: current,
} as const satisfies Record<string, XadesVersionRules>;

export type XadesVersion = keyof typeof xadesVersions;

/** Namespace of the properties that version 1.4.1 adds. */
export const xades141Namespace = `${etsi}/v1.4.1#`;

/**
 * Returns the canonicalisation of what a time-stamp covers. In version 1.1.1 a time-stamp names
 * none, and the default of XML Signature is Canonical XML 1.0 (TS 101 903 1.1.1 §7.1).
 */
export function stampedCanonicalisation(version: XadesVersion): Canonicalisation {
  return version === 'VERSION_1_1_1' ? 'C14N' : 'EXC_C14N';
}
