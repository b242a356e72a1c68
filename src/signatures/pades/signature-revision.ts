import type { PdfFile } from '../../pdf/pdf-file.ts';
import { pages } from '../../pdf/pages.ts';
import { PdfDictionary, PdfName } from '../../pdf/objects.ts';
import { PdfFault } from '../../pdf/pdf-fault.ts';
import { Revision } from '../../pdf/revision.ts';
import { Refusal } from '../../result-codes.ts';
import type { SignerChain } from '../format.ts';
import { addField, changeCatalog, declareExtension, emptyAppearance } from './new-field.ts';
import type { PadesParameters } from './pades-state.ts';
import { signatureDictionary, lockEntries } from './signature-dictionary.ts';
import { SignatureRoom, type ByteRange } from './signature-room.ts';
import { docMdpLevel, isDocumentTimeStamp, signatureFields, type DocMdpLevel, type LockedFields } from './signed-fields.ts';

export interface SignatureRevision {
  /** To be appended to the file. It lacks only the signature. */
  readonly revision: Uint8Array;
  readonly byteRange: ByteRange;
  readonly fieldName: string;
}

export interface SignatureAsked {
  readonly parameters: PadesParameters;
  readonly chain: SignerChain;
  readonly now: Date;
  /** Size of the signature at most. */
  readonly roomBytes: number;
  /** JSON Pointer of the document. */
  readonly at: string;
}

/**
 * Returns the revision with a new signature field and the dictionary of its signature.
 * @throws {Refusal} NOT_PERMITTED_BY_DOCUMENT
 * @throws {PdfFault} for a file that is not sound where it must be changed
 */
export function signatureRevision(file: PdfFile, { parameters, now, roomBytes, at }: SignatureAsked): SignatureRevision {
  const { isBasic, properties } = parameters;
  const { certifies, locks } = permitted(file, parameters, at);
  const revision = new Revision(file);
  const room = new SignatureRoom(roomBytes);
  const signature = revision.add(signatureDictionary({ room, isBasic, properties, now, certifies, locks, catalog: file.catalogReference }));
  const [page] = pages(file);
  if (page === undefined) throw new PdfFault('the document has no pages');
  const fieldName = addField(revision, {
    ...{ page, value: signature, rectangle: [0, 0, 0, 0], alternativeName: 'Signature' },
    appearance: emptyAppearance(revision),
    lock: locks === undefined ? null : revision.add(PdfDictionary.of({ Type: new PdfName('SigFieldLock'), ...lockEntries(locks) })),
  });
  if (certifies !== undefined) {
    const permissions = file.get(file.catalog, 'Perms');
    const known = permissions instanceof PdfDictionary ? permissions : new PdfDictionary();
    changeCatalog(revision, { Perms: known.with({ DocMDP: signature }) });
  }
  if (!isBasic) declareExtension(revision);
  return { ...room.placed(revision.write(), file.bytes.length), fieldName };
}

/** Checks that the document allows a signature. @throws {Refusal} NOT_PERMITTED_BY_DOCUMENT */
function permitted(
  file: PdfFile,
  { certifies, locksDocument, fieldsLock, at: parametersAt }: PadesParameters,
  at: string,
): { readonly certifies: DocMdpLevel | undefined; readonly locks: LockedFields | undefined } {
  if (file.security !== undefined && !(file.security.allows('modify') && file.security.allows('annotate')))
    throw notPermitted(at, 'the permissions of the encrypted document do not allow a new signature with this password');
  const fields = signatureFields(file);
  const level = docMdpLevel(file, fields);
  if (level === 1) throw notPermitted(at, 'a certification signature allows no changes of the document (DocMDP level 1)');
  const isSigned = fields.some(({ signature }) => signature !== undefined && !isDocumentTimeStamp(file, signature));
  if (certifies !== undefined && isSigned)
    throw notPermitted(`${parametersAt}/docMDPLevel`, 'the document is signed already; only the first signature can certify it');
  if (locksDocument && !isSigned) return { certifies: 1, locks: undefined };
  return { certifies, locks: locksDocument || fieldsLock === 'ALL' ? { action: 'All', fields: [] } : undefined };
}

function notPermitted(at: string, message: string): Refusal {
  return new Refusal('NOT_PERMITTED_BY_DOCUMENT', { at, message });
}
