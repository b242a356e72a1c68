import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { FormatEntry } from '../format-entry.ts';
import {
  algorithmParametersAt,
  checkDigestFits,
  checkFitsKey,
  checkOneAlgorithm,
  rawAlgorithmAsked,
  usualAlgorithm,
} from './raw-algorithm.ts';
import type { RawSignature } from './raw-fields.ts';
import { rawFormat, type RawParameters } from './raw.ts';

interface RawOptions {
  /** Undefined: the usual algorithm of the key. */
  readonly algorithm: SignatureAlgorithm | undefined;
}

/** The member `rawSignature` of the parameters. */
export const rawEntry: FormatEntry<RawSignature, RawOptions, RawParameters, null> = {
  askedBy: { member: 'rawSignature' },
  format: rawFormat,
  levels: undefined,

  asked(rawSignature) {
    return {
      ...{ level: undefined, trustedCa: undefined },
      ...{ takesDigests: true, takesPasswords: false, isText: false },
      options: { algorithm: rawAlgorithmAsked(rawSignature) },
    };
  },

  plan({ options: { algorithm: asked } }, documents, signer) {
    if (signer === undefined) {
      if (asked !== undefined) for (const [index, { digestHash }] of documents.entries()) checkDigestFits(digestHash, asked, index);
      return { algorithm: asked, parameters: { algorithm: asked } };
    }
    const algorithms = documents.map(({ digestHash }, index) => {
      const algorithm = asked ?? usualAlgorithm(signer.key, digestHash);
      checkFitsKey(algorithm, signer.key);
      checkDigestFits(digestHash, algorithm, index);
      return algorithm;
    });
    const algorithm = checkOneAlgorithm(algorithms);
    return { algorithm, algorithmAt: asked === undefined ? undefined : algorithmParametersAt, parameters: { algorithm } };
  },
};
