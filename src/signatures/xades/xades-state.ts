import type { SignatureText } from './signature-text.ts';
import type { XadesVersion } from './xades-version.ts';

/** A reference as it must stand in the finished signature. */
export interface ExpectedReference {
  readonly uri: string;
  /** Base64. */
  readonly digest: string;
}

/** State of a signature between the two steps, in all forms. Plain JSON. */
export interface XadesState {
  readonly text: SignatureText;
  readonly version: XadesVersion;
  /** Prefix of the XAdES elements. */
  readonly prefix: string;
  readonly signatureId: string;
  readonly signatureValueId: string;
  /** Start tag of the canonical SignatureValue. */
  readonly valueTag: string;
  /** References to data, in the order of the signature. */
  readonly references: readonly ExpectedReference[];
}
