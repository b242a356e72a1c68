import type { EvidencePiece } from '../../documents/content.ts';
import { archivalOf } from '../../pdf/archival.ts';
import { PdfDictionary, PdfName, PdfReference } from '../../pdf/objects.ts';
import { PdfFile } from '../../pdf/pdf-file.ts';
import { Revision } from '../../pdf/revision.ts';
import { Refusal } from '../../result-codes.ts';
import { contentSource } from '../content-source.ts';
import type { ArchiveImprint } from '../levels/level-writer.ts';
import { timeStampName } from './appearance/wording.ts';
import { timeStampRoomBytes } from './detached-cms.ts';
import { addField, declareExtension, emptyAppearance } from './new-field.ts';
import type { PadesState } from './pades-state.ts';
import { SignatureRoom, type ByteRange } from './signature-room.ts';
import { signatureFields } from './signed-fields.ts';
import { firstPage, pageOfWidget } from './target-field.ts';

/** A revision with a document time-stamp that lacks its token. */
export interface DocumentTimeStamp {
  readonly revision: Uint8Array;
  readonly byteRange: ByteRange;
}

/**
 * Returns the revision that adds a document time-stamp (EN 319 142-1 §5.4.3), but for its token.
 * Its field is on the page of the signature's field, which the signature has changed already.
 * @throws {PdfFault} for a file that is not sound where it must be changed
 */
export function documentTimeStamp(
  pieces: readonly EvidencePiece[],
  { fieldName, password, language }: Pick<PadesState, 'fieldName' | 'password' | 'language'>,
): DocumentTimeStamp {
  const file = new PdfFile(contentSource(pieces), password ?? undefined);
  const revision = new Revision(file);
  const room = new SignatureRoom(timeStampRoomBytes);
  const stamp = revision.add(
    PdfDictionary.of({
      ...{ Type: new PdfName('DocTimeStamp'), Filter: new PdfName('Adobe.PPKLite'), SubFilter: new PdfName('ETSI.RFC3161') },
      ...{ ByteRange: room.byteRange, Contents: room.contents },
    }),
  );
  const [widget] = signatureFields(file).find(({ name }) => name === fieldName)?.widgets ?? [];
  const page = widget === undefined ? firstPage(file) : pageOfWidget(file, widget);
  addField(revision, {
    ...{ page, value: stamp, rectangle: [0, 0, 0, 0], alternativeName: timeStampName(language), lock: null },
    appearance: archivalOf(file)?.part === 1 ? knownAppearance(revision) : undefined,
  });
  declareExtension(revision);
  return room.placed(revision.write(), file.bytes.length);
}

/**
 * Returns the appearance of another signature. Validators take a new one for a filled form, which a
 * certified document may not allow. PDF/A-1 wants one for each field (ISO 19005-1, 6.9); from
 * PDF/A-2 on, one of no size needs none (ISO 19005-2, 6.3.3), and does not show this one either.
 */
function knownAppearance(revision: Revision): PdfReference {
  const { file } = revision;
  for (const { dictionary } of signatureFields(file).flatMap(({ widgets }) => widgets)) {
    const appearances = file.get(dictionary, 'AP');
    const known = appearances instanceof PdfDictionary ? appearances.get('N') : null;
    if (known instanceof PdfReference) return known;
  }
  return emptyAppearance(revision);
}

/**
 * Returns revisions with the token in its room.
 * @throws {Refusal} TIMESTAMP_INVALID if it is too large
 */
export function withToken(token: Uint8Array, { index: revisions, room }: ArchiveImprint): Uint8Array {
  if (revisions === undefined || room === undefined) throw new Error('a document time-stamp has a revision');
  checkTokenSize(token, room.bytes);
  const filled = Buffer.from(revisions);
  filled.write(Buffer.from(token).toString('hex'), room.start, 'latin1');
  return filled;
}

/** Checks that a token has room. @throws {Refusal} TIMESTAMP_INVALID */
export function checkTokenSize(token: Uint8Array, maxBytes = timeStampRoomBytes): void {
  if (token.length <= maxBytes) return;
  throw new Refusal('TIMESTAMP_INVALID', {
    message: `the time-stamp has ${token.length} bytes, but a PDF signature has room for ${maxBytes}`,
  });
}
