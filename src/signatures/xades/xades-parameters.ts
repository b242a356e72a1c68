import { createHash } from 'node:crypto';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { Canonicalisation } from '../../xml/canonicalisation.ts';
import type { ElementName } from '../../xmldsig/transforms.ts';
import type { SignedProperties } from '../request/signed-properties.ts';
import type { XadesVersion } from './xades-version.ts';

/** Hexadecimal digits of an Id that is not the caller's: 128 bits. */
const idDigits = 32;

/** Ids of the parts of a signature. */
export interface SignatureIds {
  readonly signature: string;
  readonly signedProperties: string;
  readonly signatureValue: string;
  /** Start of the Ids of its references. */
  readonly reference: string;
}

/** Parameters that all forms of XAdES share. */
export interface XadesParameters {
  readonly algorithm: SignatureAlgorithm;
  readonly version: XadesVersion;
  /** Prefix of the XAdES elements. */
  readonly prefix: string;
  readonly canonicalisation: {
    readonly contents: Canonicalisation;
    readonly properties: Canonicalisation;
    readonly signedInfo: Canonicalisation;
  };
  /** Ids that the caller chooses. */
  readonly ids: {
    readonly signature?: string | undefined;
    readonly signedProperties?: string | undefined;
    readonly signatureValue?: string | undefined;
  };
  /** Element that stands in the place of ds:Signature. */
  readonly root: ElementName | undefined;
  readonly properties: SignedProperties;
  /** Random text from which the Ids of a request are derived. */
  readonly seed: string;
  /** Whether existing signatures are verified first. */
  readonly validates: boolean;
}

/** Returns a text that is unique to the request and `name`. */
export function derivedId(seed: string, name: string): string {
  return createHash('sha256').update(`${seed}\n${name}`).digest('hex').slice(0, idDigits);
}

/** Returns the Ids of a signature. `index`: its place in the request. */
export function signatureIds({ ids, seed }: XadesParameters, index: number): SignatureIds {
  const suffix = derivedId(seed, `signature ${index}`);
  return {
    signature: ids.signature ?? `signature-${suffix}`,
    signedProperties: ids.signedProperties ?? `signed-properties-${suffix}`,
    signatureValue: ids.signatureValue ?? `signature-value-${suffix}`,
    reference: `reference-${suffix}`,
  };
}
