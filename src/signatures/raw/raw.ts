import type { Evidence } from '../../documents/document.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { valueVerifies } from '../../verification/verify-value.ts';
import { dataToSignMaxBytes, oneForEach, usualWorkload, type SignatureFormat } from '../format.ts';
import { hashContent } from '../content-source.ts';
import { signatureValueOf } from '../signature-value.ts';

export interface RawParameters {
  /** Undefined if neither a certificate nor the request determines it. */
  readonly algorithm: SignatureAlgorithm | undefined;
}

/**
 * The bare signature value over a document's bytes or over a digest (contract §5, rawSignature).
 * ECDSA values are DER. If the signer is unknown, the value is returned unchanged.
 */
export const rawFormat: SignatureFormat<RawParameters, null> = {
  workload: () => usualWorkload,
  completion: () => usualWorkload,

  prepare(documents, { algorithm }) {
    return oneForEach(documents, ({ source }) => {
      if ('digest' in source) {
        const { hash, value: digest } = source.digest;
        return { signature: { hash, digest, dataToSign: undefined, contents: [], state: null } };
      }
      const { content } = source;
      const hash = algorithm?.hash ?? 'sha256';
      const digest = hashContent(hash, content);
      const dataToSign = content instanceof Uint8Array && content.length <= dataToSignMaxBytes ? content : undefined;
      return { signature: { hash, digest, dataToSign, contents: [], state: null }, documentDigest: { hash, value: digest } };
    });
  },

  complete({ digest }, value, signing) {
    if (signing === undefined) return bareValue(value);
    const { algorithm, chain } = signing;
    const content = signatureValueOf(algorithm, value);
    if (!valueVerifies(chain.publicKey, algorithm, digest, content)) {
      throw new Error('the signature value does not verify under the signer certificate');
    }
    return bareValue(content);
  },
};

function bareValue(value: Uint8Array): Evidence {
  return { content: [value], mimeType: 'application/octet-stream', ending: '.sig' };
}
