import { Refusal } from '../../result-codes.ts';
import { zoneCurve } from '../../twoddoc/code/curves.ts';
import { checkText } from '../../twoddoc/picture/text-bitmap.ts';
import { refusing } from '../../twoddoc/two-d-doc-fault.ts';
import type { FormatEntry } from '../format-entry.ts';
import type { Code2DDocSignature } from './code-fields.ts';
import { codeFormat, type CodeOutput, type CodeParameters, type CodeState } from './code-format.ts';

const at = '/parameters/code2DDocSignature';

interface CodeOptions {
  readonly output: CodeOutput;
}

/** The member `code2DDocSignature` of the parameters. */
export const codeEntry: FormatEntry<Code2DDocSignature, CodeOptions, CodeParameters, CodeState> = {
  askedBy: { member: 'code2DDocSignature' },
  format: codeFormat,
  levels: undefined,

  asked({ code2DDocParameters = {} }, { picture }) {
    const { text = '2D-Doc', imageFormat: format = 'PNG', textPosition: position = 'BOTTOM', outputMode: mode } = code2DDocParameters;
    refusing(`${at}/code2DDocParameters/text`, () => checkText(text), 'FIELD_INVALID');
    const output: CodeOutput =
      mode === 'IMAGE' ? { mode, wish: { format, text, position }, settings: picture } : { mode: mode ?? 'SIGNED_CODE' };
    return {
      ...{ level: undefined, trustedCa: undefined },
      ...{ takesDigests: false, takesPasswords: false, isText: mode !== 'IMAGE' },
      options: { output },
    };
  },

  plan({ options: { output } }, _documents, signer) {
    // Without a certificate (contract §9).
    const curve = zoneCurve(signer?.key.type ?? 'P-256');
    if (curve === undefined) {
      throw new Refusal('FIELDS_INCONSISTENT', {
        at,
        message: `the key is of type ${signer?.key.type ?? ''}, but 2D-Doc codes are signed with P-256, P-384 or P-521`,
      });
    }
    return { algorithm: curve.algorithm, parameters: { curve: curve.name, output } };
  },
};
