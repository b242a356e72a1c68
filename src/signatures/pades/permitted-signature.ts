import type { PdfFile } from '../../pdf/pdf-file.ts';
import { Refusal } from '../../result-codes.ts';
import type { PadesParameters } from './pades-state.ts';
import { unmetDemand } from './seed-values.ts';
import {
  allFields,
  docMdpLevel,
  isDocumentTimeStamp,
  lockedBy,
  lockOf,
  locks,
  signatureFields,
  type DocMdpLevel,
  type LockedFields,
  type SignatureField,
} from './signed-fields.ts';
import { limitsOfRevisions } from './verify/revision-signatures.ts';

/** A signature that a document allows. */
export interface Permitted {
  /** The existing field; undefined for a new one. */
  readonly field: SignatureField | undefined;
  /** Level of the document that the signature certifies. */
  readonly certifies: DocMdpLevel | undefined;
  /** Fields that the signature locks. */
  readonly locks: LockedFields | undefined;
}

/**
 * Checks that a document allows the signature that is asked for.
 * @throws {Refusal} NOT_PERMITTED_BY_DOCUMENT, FIELDS_INCONSISTENT
 */
export function permitted(file: PdfFile, parameters: PadesParameters, at: string): Permitted {
  const fields = signatureFields(file);
  // A later revision can leave out a certification, but not what it forbids.
  const earlier = limitsOfRevisions(file).level;
  const isSigned =
    earlier !== undefined || fields.some(({ signature }) => signature !== undefined && !isDocumentTimeStamp(file, signature));
  if (earlier === 1 || docMdpLevel(file, fields) === 1)
    throw notPermitted(at, 'an earlier signature allows no changes of the document (DocMDP level 1)');
  if (parameters.certifies !== undefined && isSigned)
    throw notPermitted(`${parameters.at}/docMDPLevel`, 'the document is signed already; only the first signature can certify it');
  // A document time-stamp covers the pages, too.
  if (parameters.pageImage !== undefined && (earlier !== undefined || fields.some(({ signature }) => signature !== undefined)))
    throw notPermitted(parameters.pageImage.at, 'the document is signed already, so its pages must not change');
  const field = parameters.signatureField === undefined ? undefined : emptyField(fields, parameters.signatureField, parameters.at);
  checkSecurity(file, { isNewField: field === undefined, changesPages: parameters.pageImage !== undefined }, at);
  if (field !== undefined) {
    const lock = fields.flatMap(({ signature }) => (signature === undefined ? [] : lockedBy(file, signature)));
    const demand = unmetDemand(file, field.dictionary, parameters);
    if (demand !== undefined) throw notPermitted(at, `the field ${field.name} demands ${demand}`);
    if (lock.some((one) => locks(one, field.name))) throw notPermitted(at, `the field ${field.name} is locked by an earlier signature`);
  }
  return { field, ...lockingOf(file, field, parameters, isSigned) };
}

function emptyField(fields: readonly SignatureField[], name: string, at: string): SignatureField {
  const found = fields.filter((field) => field.name === name);
  const [field] = found;
  const pointer = `${at}/visibleSignature/signatureField`;
  if (field === undefined) throw inconsistent(pointer, 'the document has no signature field of this name');
  if (found.length > 1) throw inconsistent(pointer, 'the document has several signature fields of this name');
  if (field.signature !== undefined) throw inconsistent(pointer, 'the field is signed already');
  return field;
}

/**
 * ISO 32000-2, 7.6.4.2, table 22: a new field is a change and an annotation, an existing one is
 * filled in.
 */
function checkSecurity(
  { security }: PdfFile,
  { isNewField, changesPages }: { readonly isNewField: boolean; readonly changesPages: boolean },
  at: string,
): void {
  if (security === undefined) return;
  const allows = isNewField
    ? security.allows('modify') && security.allows('annotate')
    : security.allows('annotate') || security.allows('fillForms');
  if (!allows) throw notPermitted(at, 'the permissions of the encrypted document do not allow a signature with this password');
  if (changesPages && !security.allows('modify'))
    throw notPermitted(at, 'the permissions of the encrypted document do not allow changes of its pages with this password');
}

function lockingOf(
  file: PdfFile,
  field: SignatureField | undefined,
  { certifies, locksDocument, fieldsLock, at }: PadesParameters,
  isSigned: boolean,
): Omit<Permitted, 'field'> {
  const own = field === undefined ? undefined : lockOf(file, field.dictionary.get('Lock'));
  if (fieldsLock === 'NEITHER' && own !== undefined)
    throw notPermitted(`${at}/fieldsLock`, 'the signature field demands a lock, so NEITHER is not possible');
  const asked = fieldsLock === 'ALL' ? { ...allFields, permission: own?.permission } : own;
  if (!locksDocument) return { certifies, locks: asked };
  return isSigned ? { certifies, locks: { ...allFields, permission: 1 } } : { certifies: 1, locks: asked };
}

function notPermitted(at: string, message: string): Refusal {
  return new Refusal('NOT_PERMITTED_BY_DOCUMENT', { at, message });
}

function inconsistent(at: string, message: string): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at, message });
}
