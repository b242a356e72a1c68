import { Refusal } from '../../result-codes.ts';
import { requestedCms, type RequestedCms } from './cms-parameters.ts';
import type { SignatureParameters, XP7Signature } from './parameters.ts';
import type { RawSignature } from './raw-signature.ts';

/** The signature that a request asks for, one of those that are offered. */
export type RequestedSignature = { readonly kind: 'raw'; readonly raw: RawSignature } | RequestedCms;

const xp7 = '/parameters/XP7Signature';

/** Which of the members is given, and whether it is offered. @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED */
export function requestedSignature(parameters: SignatureParameters, { allowSha1 }: { readonly allowSha1: boolean }): RequestedSignature {
  const given = Object.entries(parameters).filter(([, member]) => member !== undefined);
  if (given.length !== 1) {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: '/parameters',
      message: `exactly one of rawSignature, code2DDocSignature, envelopedXAdESSignature, XP7Signature is needed, and there are ${given.length}`,
    });
  }
  if (parameters.rawSignature !== undefined) return { kind: 'raw', raw: parameters.rawSignature };
  if (parameters.XP7Signature !== undefined) return cms(parameters.XP7Signature, allowSha1);
  throw unsupported(`/parameters/${given[0]?.[0] ?? ''}`, 'rawSignature and XP7Signature with XP7Format CXP_7');
}

function cms(options: XP7Signature, allowSha1: boolean): RequestedSignature {
  if (options.longTermValidation !== undefined && options.timeStamp === undefined) {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${xp7}/longTermValidation`, message: 'long-term validation needs timeStamp' });
  }
  if (options.recovery !== undefined && options.timeStamp === undefined) {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${xp7}/recovery`, message: 'it is for time-stamps, and there is no timeStamp' });
  }
  if (options.contentPreparation?.PDFContent !== undefined && options.XP7Format !== 'PXP_7') {
    throw new Refusal('FIELDS_INCONSISTENT', { at: `${xp7}/contentPreparation`, message: 'only PXP_7 prepares PDF content' });
  }
  if (options.XP7Format !== 'CXP_7') throw unsupported(`${xp7}/XP7Format`, 'CXP_7');
  if (options.timeStamp !== undefined) throw unsupported(`${xp7}/timeStamp`, 'baseline B, without time-stamp');
  if (options.digestAlgorithm === 'SHA_1' && !allowSha1) {
    throw new Refusal('UNSUPPORTED', {
      at: `${xp7}/digestAlgorithm`,
      message: 'SHA_1 is not allowed for this tenant; offered: SHA_256, SHA_384 and SHA_512',
    });
  }
  return requestedCms(options);
}

function unsupported(at: string, offered: string): Refusal {
  return new Refusal('UNSUPPORTED', { at, message: `not offered by this version; offered: ${offered}` });
}
