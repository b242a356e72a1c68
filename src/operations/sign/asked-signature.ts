import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { checkDocumentCount, checkDocuments, type InputDocumentField } from '../fields/input-documents.ts';
import type { Context } from '../operation.ts';
import { rawAlgorithmAsked } from '../../signatures/raw/raw-algorithm.ts';
import { requestedSignature, type RequestedSignature } from './consistency.ts';
import type { SignatureParameters } from '../../signatures/request/parameters.ts';

/** What `sign` and `remotePreSign` are asked for, as far as the request alone says. */
export type AskedSignature =
  | Extract<RequestedSignature, { readonly kind: 'cms' }>
  | (Extract<RequestedSignature, { readonly kind: 'raw' }> & {
      /** Absent: the key's usual one. */
      readonly algorithm: SignatureAlgorithm | undefined;
    });

/** Checks parameters and documents against each other, before any key is looked at. @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT, UNSUPPORTED */
export function askedSignature(
  { parameters, inputDocuments }: { readonly parameters: SignatureParameters; readonly inputDocuments: readonly InputDocumentField[] },
  { caller, config, levels }: Pick<Context, 'caller' | 'config' | 'levels'>,
): AskedSignature {
  checkDocumentCount(inputDocuments, config.limits);
  const requested = requestedSignature(parameters, {
    allowSha1: config.tenants[caller.tenant]?.allowSha1 ?? false,
    checkUrl: (text, at) => {
      levels.checkUrl(text, at);
    },
  });
  checkDocuments(inputDocuments, { digestAllowed: requested.kind === 'raw', passwordAllowed: false });
  return requested.kind === 'raw' ? { ...requested, algorithm: rawAlgorithmAsked(requested.raw) } : requested;
}
