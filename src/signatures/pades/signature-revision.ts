import { PdfDictionary, PdfName, type PdfReference } from '../../pdf/objects.ts';
import type { PdfFile } from '../../pdf/pdf-file.ts';
import { Revision } from '../../pdf/revision.ts';
import type { SignerChain } from '../format.ts';
import { appearance } from './appearance/appearance.ts';
import { shownLines, signerName } from './appearance/shown-text.ts';
import type { VisibleSignature } from './appearance/visible-signature.ts';
import { alternativeName } from './appearance/wording.ts';
import { drawingRules, pictureOf, type DrawingRules } from './drawing-rules.ts';
import { addField, changeCatalog, declareExtension, emptyAppearance, fillField } from './new-field.ts';
import type { PadesParameters } from './pades-state.ts';
import { addPageImage } from './page-image.ts';
import { permitted, type Permitted } from './permitted-signature.ts';
import { signatureDictionary, lockEntries } from './signature-dictionary.ts';
import { SignatureRoom, type ByteRange } from './signature-room.ts';
import { existingFrames, firstPage, invisibleFrame, newFrame, type Frame } from './target-field.ts';

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
 * Returns the revision with the signature dictionary in a new field or in an existing one, and with
 * an image on the pages if one is asked for.
 * @throws {Refusal} NOT_PERMITTED_BY_DOCUMENT, FIELDS_INCONSISTENT, DOCUMENT_INVALID, UNSUPPORTED
 * @throws {PdfFault} for a file that is not sound where it must be changed
 */
export function signatureRevision(file: PdfFile, asked: SignatureAsked): SignatureRevision {
  const { parameters, now, roomBytes, at } = asked;
  const { isBasic, properties, pageImage } = parameters;
  const allowed = permitted(file, parameters, at);
  const revision = new Revision(file);
  const rules = drawingRules(file);
  if (pageImage !== undefined) addPageImage(revision, pageImage, rules);
  const room = new SignatureRoom(roomBytes);
  const { certifies, locks } = allowed;
  const signature = revision.add(signatureDictionary({ room, isBasic, properties, now, certifies, locks, catalog: file.catalogReference }));
  const fieldName = signField(revision, signature, allowed, asked, rules);
  if (certifies !== undefined) {
    const permissions = file.get(file.catalog, 'Perms');
    const known = permissions instanceof PdfDictionary ? permissions : new PdfDictionary();
    changeCatalog(revision, { Perms: known.with({ DocMDP: signature }) });
  }
  if (!isBasic) declareExtension(revision);
  return { ...room.placed(revision.write(), file.bytes.length), fieldName };
}

/** Puts a signature into its field. Returns the name of the field. */
function signField(
  revision: Revision,
  signature: PdfReference,
  { field, locks }: Permitted,
  asked: SignatureAsked,
  rules: DrawingRules,
): string {
  const { parameters, chain } = asked;
  const { visible, locale } = parameters;
  const lock = locks === undefined ? null : revision.add(PdfDictionary.of({ Type: new PdfName('SigFieldLock'), ...lockEntries(locks) }));
  const at = `${parameters.at}/visibleSignature`;
  if (field === undefined) {
    const picture = visible?.image === undefined ? undefined : pictureOf(visible.image, rules, `${at}/image`);
    const frame = visible === undefined ? invisibleFrame(firstPage(revision.file)) : newFrame(revision.file, visible, picture, at);
    const { page, rectangle } = frame;
    return addField(revision, {
      ...{ page, value: signature, rectangle, lock, alternativeName: alternativeName(locale.language, signerName(chain.certificate)) },
      appearance: drawn(revision, frame, visible, asked, rules),
    });
  }
  fillField(revision, field, {
    value: signature,
    lock,
    appearances: sharedAppearances(existingFrames(revision.file, field.widgets), (frame) => drawn(revision, frame, visible, asked, rules)),
  });
  return field.name;
}

/** Frames of the same size have the same appearance. */
function sharedAppearances(frames: readonly Frame[], draw: (frame: Frame) => PdfReference): readonly PdfReference[] {
  const drawnOnes = new Map<string, PdfReference>();
  return frames.map((frame) => {
    const key = [frame.width, frame.height, ...frame.matrix].join(' ');
    const known = drawnOnes.get(key) ?? draw(frame);
    drawnOnes.set(key, known);
    return known;
  });
}

function drawn(
  revision: Revision,
  { width, height, matrix }: Frame,
  visible: VisibleSignature | undefined,
  { parameters, chain, now }: SignatureAsked,
  { isFlat, colourSpaces }: DrawingRules,
): PdfReference {
  if (visible === undefined || width === 0 || height === 0) return emptyAppearance(revision);
  const { properties, locale, at } = parameters;
  const { style, shown, freeText, image } = visible;
  const { certificate } = chain;
  const date = properties.signingTime instanceof Date ? properties.signingTime : now;
  return appearance(revision, {
    ...{ width, height, style, isFlat, colourSpaces, entries: { Matrix: matrix } },
    picture: image === undefined ? undefined : pictureOf(image, { isFlat, colourSpaces }, `${at}/visibleSignature/image`),
    nameOnLeft: shown.nameOnLeft ? signerName(certificate) : undefined,
    lines: shownLines({ certificate, properties, date, shown, freeText, ...locale }),
  });
}
