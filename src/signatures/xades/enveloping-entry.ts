import type { FormatEntry } from '../format-entry.ts';
import { xp7Asked, xp7At } from '../request/xp7-asked.ts';
import type { XP7Signature } from '../request/xp7-signature.ts';
import { envelopingFormat, type EnvelopingState } from './enveloping.ts';
import { wholeDocument, xadesLevels } from './level-writer.ts';
import { checkLongTerm, xadesOptions, xadesSigner } from './xades-fields.ts';
import type { XadesParameters } from './xades-parameters.ts';

const at = `${xp7At}/XP7Providers/EGXXP7Parameters`;
const propertiesAt = `${xp7At}/signedProperties`;

/** Everything but the algorithm, which depends on the key. */
interface EnvelopingOptions {
  readonly parameters: Omit<XadesParameters, 'algorithm' | 'seed'>;
  readonly xp7: XP7Signature;
}

/** The member `XP7Signature` with XP7Format EGXXP_7. */
export const envelopingEntry: FormatEntry<XP7Signature, EnvelopingOptions, XadesParameters, EnvelopingState> = {
  askedBy: { member: 'XP7Signature', xp7Format: 'EGXXP_7' },
  format: envelopingFormat,
  levels: xadesLevels(wholeDocument),

  asked(xp7, rules) {
    const { level, trustedCa, properties } = xp7Asked(xp7, rules);
    const { xadesPrefix: prefix, ...fields } = xp7.XP7Providers?.EGXXP7Parameters ?? {};
    const options = xadesOptions(fields, { prefix, prefixField: 'xadesPrefix' }, properties, { at, propertiesAt });
    checkLongTerm(level, options, at);
    return {
      ...{ level, trustedCa },
      ...{ takesDigests: false, takesPasswords: false, isText: true },
      options: { parameters: { ...options, ids: {}, validates: false }, xp7 },
    };
  },

  plan({ options: { parameters, xp7 } }, _documents, signer) {
    const own = xadesSigner(parameters, xp7, xp7At, signer);
    return { algorithm: own.algorithm, parameters: { ...parameters, ...own } };
  },
};
