import { oids } from '../../asn1/object-identifiers.ts';
import { concat } from '../../asn1/der.ts';
import { withoutRoot } from '../../certificates/chains.ts';
import { hashAlgorithmIdentifier } from '../../cms/algorithm-identifier.ts';
import { inOrder, signedData, signerInfo } from '../../cms/signed-data.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { signatureTimeStamp, withUnsignedAttributes } from '../cades/level-attributes.ts';
import type { SignerChain } from '../format.ts';
import { signatureValueOf } from '../signature-value.ts';

export interface DetachedCms {
  readonly algorithm: SignatureAlgorithm;
  readonly chain: SignerChain;
  /** In DER. */
  readonly signedAttributes: readonly Uint8Array[];
  /** As tokens return it. */
  readonly value: Uint8Array;
  /** Token of the time-stamp over the value, in DER. */
  readonly timeStamp: Uint8Array | undefined;
}

/** Room for a time-stamp token with the chain of its authority: 12 KB were too few in practice. */
export const timeStampRoomBytes = 16 * 1024;

/**
 * Bytes around a token: the attribute with its identifier, and longer lengths of what contains it.
 */
const attributeBytes = 64;

/** Returns the SignedData that a signature dictionary holds (EN 319 142-1 §5.3), in DER. */
export function detachedCms({ algorithm, chain, signedAttributes, value, timeStamp }: DetachedCms): Uint8Array {
  const baseline = signerInfo({
    algorithm,
    signer: chain.certificate,
    signedAttributes,
    signatureValue: signatureValueOf(algorithm, value),
  });
  const pieces = signedData({
    digestAlgorithms: [hashAlgorithmIdentifier(algorithm.hash)],
    contentType: oids.data,
    content: undefined,
    // The root is left out: the verifier has it.
    certificates: inOrder([chain.certificate.der, ...withoutRoot(chain.issuers)]),
    revocationData: [],
    signerInfos: [withUnsignedAttributes(baseline, timeStamp === undefined ? [] : [signatureTimeStamp(timeStamp)])],
  });
  return concat(...pieces.filter((piece) => piece instanceof Uint8Array));
}

/** Returns the most bytes that the SignedData may have, before there is a value. */
export function cmsRoomBytes(
  cms: Omit<DetachedCms, 'value' | 'timeStamp'>,
  { withTimeStamp }: { readonly withTimeStamp: boolean },
): number {
  const { publicKey } = cms.chain;
  const { modulusLength, namedCurve } = publicKey.asymmetricKeyDetails ?? {};
  const coordinateBytes = namedCurve === 'secp521r1' ? 66 : namedCurve === 'secp384r1' ? 48 : 32;
  const valueBytes = modulusLength === undefined ? coordinateBytes * 2 : modulusLength / 8;
  // Each number has its highest bit, as the longest ones do.
  const { length } = detachedCms({ ...cms, value: new Uint8Array(valueBytes).fill(0xff), timeStamp: undefined });
  return length + 16 + (withTimeStamp ? timeStampRoomBytes + attributeBytes : 0);
}
