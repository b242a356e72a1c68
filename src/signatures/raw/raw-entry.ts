import type { FormatEntry } from '../format-entry.ts';
import { checkDigestFits, checkFitsKey, checkOneAlgorithm, rawAlgorithmAsked, usualAlgorithm } from './raw-algorithm.ts';
import { rawFormat, type RawParameters } from './raw.ts';

/** The member `rawSignature` of the parameters. */
export const rawEntry: FormatEntry<RawParameters, null> = {
  title: 'rawSignature',
  format: rawFormat,
  levels: undefined,

  asked({ rawSignature }) {
    if (rawSignature === undefined) return undefined;
    const asked = rawAlgorithmAsked(rawSignature);
    return {
      ...{ level: undefined, trustedCa: undefined },
      ...{ takesDigests: true, takesPasswords: false, isText: false },
      plan(documents, signer) {
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
        return { algorithm, parameters: { algorithm } };
      },
    };
  },
};
