import { createHash } from 'node:crypto';
import type { Content } from '../../documents/content.ts';
import { dataToSignMaxBytes, type Prepared } from '../format.ts';
import type { ComposedSignature, SignatureText } from './signature-text.ts';
import type { SignatureIds, XadesParameters } from './xades-parameters.ts';
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

/** Returns a signature that lacks its value. */
export function preparedXades(
  { text, signedInfo, valueTag }: ComposedSignature,
  {
    parameters: { algorithm, version, prefix },
    ids,
    references,
    contents,
  }: {
    readonly parameters: XadesParameters;
    readonly ids: SignatureIds;
    readonly references: readonly ExpectedReference[];
    readonly contents: readonly Content[];
  },
): Omit<Prepared<XadesState>, 'id' | 'covers'> {
  const { hash } = algorithm;
  return {
    hash,
    digest: createHash(hash).update(signedInfo).digest(),
    dataToSign: signedInfo.length <= dataToSignMaxBytes ? signedInfo : undefined,
    contents,
    state: { text, version, prefix, signatureId: ids.signature, signatureValueId: ids.signatureValue, valueTag, references },
  };
}
