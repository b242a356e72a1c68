import { Refusal } from '../../result-codes.ts';
import type { AskedLevel } from '../../signatures/levels/asked-level.ts';
import { requestedCms, type RequestedCms } from '../../signatures/cms/cms-entry.ts';
import { levelAsked, type LevelRules } from '../../signatures/request/level-asked.ts';
import type { SignatureParameters, XP7Signature } from '../../signatures/request/parameters.ts';
import type { RawSignature } from '../../signatures/raw/raw-fields.ts';

/** The signature that a request asks for, one of those that are offered. */
export type RequestedSignature =
  | { readonly kind: 'raw'; readonly raw: RawSignature; readonly level: undefined }
  | (RequestedCms & { readonly level: AskedLevel | undefined });

const xp7 = '/parameters/XP7Signature';

/** Which of the members is given, and whether it is offered. @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED */
export function requestedSignature(parameters: SignatureParameters, rules: LevelRules): RequestedSignature {
  const given = Object.entries(parameters).filter(([, member]) => member !== undefined);
  if (given.length !== 1) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: '/parameters',
      message: `exactly one of rawSignature, code2DDocSignature, envelopedXAdESSignature, XP7Signature is needed, and there are ${given.length}`,
    });
  }
  if (parameters.rawSignature !== undefined) return { kind: 'raw', raw: parameters.rawSignature, level: undefined };
  if (parameters.XP7Signature !== undefined) return cms(parameters.XP7Signature, rules);
  throw unsupported(`/parameters/${given[0]?.[0] ?? ''}`, 'rawSignature and XP7Signature with XP7Format CXP_7');
}

function cms(options: XP7Signature, rules: LevelRules): RequestedSignature {
  const level = levelAsked(options, xp7, rules);
  if (options.contentPreparation?.PDFContent !== undefined && options.XP7Format !== 'PXP_7') {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${xp7}/contentPreparation`, message: 'only PXP_7 prepares PDF content' });
  }
  if (options.XP7Format !== 'CXP_7') throw unsupported(`${xp7}/XP7Format`, 'CXP_7');
  if (options.digestAlgorithm === 'SHA_1' && !rules.allowSha1) {
    throw new Refusal('UNSUPPORTED', {
      at: `${xp7}/digestAlgorithm`,
      message: 'SHA_1 is not allowed for this tenant; offered: SHA_256, SHA_384 and SHA_512',
    });
  }
  if (level?.level === 'LTA' && options.digestAlgorithm === 'SHA_1') {
    throw new Refusal('UNSUPPORTED', { at: `${xp7}/digestAlgorithm`, message: 'an archive time-stamp needs SHA_256, SHA_384 or SHA_512' });
  }
  return { ...requestedCms(options), level };
}

function unsupported(at: string, offered: string): Refusal {
  return new Refusal('UNSUPPORTED', { at, message: `not offered by this version; offered: ${offered}` });
}
