import { createHash } from 'node:crypto';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { SignatureFormat } from '../format.ts';
import { ecdsaValueToDer } from '../signature-value.ts';
import { valueVerifies } from '../verify/verify-value.ts';

export interface RawParameters {
  readonly algorithm: SignatureAlgorithm;
}

/** The bare signature value over a document's bytes or over a digest (contract §5, rawSignature). ECDSA values are DER. */
export const rawFormat: SignatureFormat<RawParameters, null> = {
  prepare({ source }, { algorithm }) {
    if ('digest' in source) return { digest: source.digest.value, algorithm, dataToSign: undefined, state: null };
    const digest = createHash(algorithm.hash).update(source.content).digest();
    return { digest, algorithm, dataToSign: source.content, state: null };
  },

  complete({ digest, algorithm, dataToSign }, value, { publicKey }) {
    const content = algorithm.scheme === 'ECDSA' ? ecdsaValueToDer(value) : value;
    if (!valueVerifies(publicKey, algorithm, { digest, data: dataToSign }, content)) {
      throw new Error('the signature value does not verify under the signer certificate');
    }
    return { content, mimeType: 'application/octet-stream', ending: '.sig' };
  },
};
