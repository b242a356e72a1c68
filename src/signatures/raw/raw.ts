import type { Evidence } from '../../documents/document.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { dataToSignMaxBytes, type SignatureFormat } from '../format.ts';
import { hashContent } from '../hash-content.ts';
import { ecdsaValueToDer } from '../signature-value.ts';
import { valueVerifies } from '../../verification/verify-value.ts';

export interface RawParameters {
  readonly algorithm: SignatureAlgorithm;
}

/** The bare signature value over a document's bytes or over a digest (contract §5, rawSignature). ECDSA values are DER. */
export const rawFormat: SignatureFormat<RawParameters, null> = {
  prepare({ source }, { algorithm }) {
    if ('digest' in source) return { digest: source.digest.value, algorithm, dataToSign: undefined, needsContent: false, state: null };
    const { content } = source;
    const dataToSign = content instanceof Uint8Array && content.length <= dataToSignMaxBytes ? content : undefined;
    const digest = hashContent(algorithm.hash, content);
    return { digest, algorithm, dataToSign, needsContent: false, state: null, documentDigest: { hash: algorithm.hash, value: digest } };
  },

  complete({ digest, algorithm }, value, { publicKey }) {
    const content = algorithm.scheme === 'ECDSA' ? ecdsaValueToDer(value) : value;
    if (!valueVerifies(publicKey, algorithm, digest, content)) {
      throw new Error('the signature value does not verify under the signer certificate');
    }
    return bareValue(content);
  },
};

/** A signature value as evidence. */
export function bareValue(value: Uint8Array): Evidence {
  return { content: [value], mimeType: 'application/octet-stream', ending: '.sig' };
}
