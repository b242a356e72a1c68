import { hashOfOid } from '../../cms/algorithm-identifier.ts';
import type { AskedDocument } from '../../signatures/format-entry.ts';
import { askedFormat, type AskedFormat } from '../../signatures/formats.ts';
import type { SignatureParameters } from '../../signatures/request/parameters.ts';
import { checkDocumentCount, checkDocuments, type InputDocumentField } from '../fields/input-documents.ts';
import type { Context } from '../operation.ts';

/**
 * The requested signatures of `sign` and `remotePreSign`, as far as the request alone describes
 * them.
 */
export interface AskedSigning {
  readonly asked: AskedFormat;
  readonly documents: readonly AskedDocument[];
}

/**
 * Checks parameters and documents against each other, before any key is looked up.
 * @throws {Refusal} FIELD_INVALID, FIELDS_INCONSISTENT, UNSUPPORTED
 */
export function askedSigning(
  { parameters, inputDocuments }: { readonly parameters: SignatureParameters; readonly inputDocuments: readonly InputDocumentField[] },
  { caller, config, levels }: Pick<Context, 'caller' | 'config' | 'levels'>,
): AskedSigning {
  checkDocumentCount(inputDocuments, config.limits);
  const asked = askedFormat(parameters, {
    allowSha1: config.tenants[caller.tenant]?.allowSha1 ?? false,
    checkUrl: (text, at) => {
      levels.checkUrl(text, at);
    },
  });
  checkDocuments(inputDocuments, { digestAllowed: asked.takesDigests, passwordAllowed: asked.takesPasswords });
  const documents = inputDocuments.map(({ digest }) => ({ digestHash: digest === undefined ? undefined : hashOfOid(digest.digestAlgOID) }));
  return { asked, documents };
}
