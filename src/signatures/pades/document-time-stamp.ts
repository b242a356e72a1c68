import type { EvidencePiece } from '../../documents/content.ts';
import { PdfDictionary, PdfName } from '../../pdf/objects.ts';
import { PdfFile } from '../../pdf/pdf-file.ts';
import { Revision } from '../../pdf/revision.ts';
import { Refusal } from '../../result-codes.ts';
import { contentSource } from '../content-source.ts';
import { timeStampRoomBytes } from './detached-cms.ts';
import { addField, declareExtension, emptyAppearance } from './new-field.ts';
import { SignatureRoom, type ByteRange } from './signature-room.ts';
import { firstPage } from './target-field.ts';

/** A revision with a document time-stamp that lacks its token. */
export interface DocumentTimeStamp {
  readonly revision: Uint8Array;
  readonly byteRange: ByteRange;
}

/** Returns the revision that adds a document time-stamp (EN 319 142-1 §5.4.3), but for its token. */
export function documentTimeStamp(pieces: readonly EvidencePiece[], password: string | undefined): DocumentTimeStamp {
  const file = new PdfFile(contentSource(pieces), password);
  const revision = new Revision(file);
  const room = new SignatureRoom(timeStampRoomBytes);
  const stamp = revision.add(
    PdfDictionary.of({
      ...{ Type: new PdfName('DocTimeStamp'), Filter: new PdfName('Adobe.PPKLite'), SubFilter: new PdfName('ETSI.RFC3161') },
      ...{ ByteRange: room.byteRange, Contents: room.contents },
    }),
  );
  addField(revision, {
    ...{ page: firstPage(file), value: stamp, rectangle: [0, 0, 0, 0], alternativeName: 'Time-stamp', lock: null },
    appearance: emptyAppearance(revision),
  });
  declareExtension(revision);
  return room.placed(revision.write(), file.bytes.length);
}

/** Returns the revision with the token in its room. @throws {Refusal} TIMESTAMP_INVALID if it is too large */
export function withToken(revision: Uint8Array, token: Uint8Array): Uint8Array {
  const filled = Buffer.from(revision);
  const start = filled.indexOf('/Contents <00') + '/Contents <'.length;
  if (token.length > timeStampRoomBytes) throw tokenTooLarge();
  filled.write(Buffer.from(token).toString('hex'), start, 'latin1');
  return filled;
}

export function tokenTooLarge(): Refusal {
  return new Refusal('TIMESTAMP_INVALID', {
    message: `the time-stamp has more than ${timeStampRoomBytes} bytes, the room that a PDF has for it`,
  });
}
