import { readPicture } from '../../image/image.ts';
import type { Picture } from '../../image/picture.ts';
import { ImageFault } from '../../image/image-fault.ts';
import { archivalOf, calibratedColours } from '../../pdf/archival.ts';
import type { PdfDictionary } from '../../pdf/objects.ts';
import type { PdfFile } from '../../pdf/pdf-file.ts';
import { Refusal } from '../../result-codes.ts';

/** What a file demands of everything that is drawn in it. */
export interface DrawingRules {
  /** Transparency is not allowed. */
  readonly isFlat: boolean;
  /** What device colours mean; undefined where the file need not say so. */
  readonly colourSpaces: PdfDictionary | undefined;
}

/**
 * Returns the rules of a file. PDF/A-1 forbids transparency, the later parts allow it only where
 * the output intent says how colours are mixed (ISO 19005-1, 6.4; ISO 19005-2, 6.2.10).
 */
export function drawingRules(file: PdfFile): DrawingRules {
  const archival = archivalOf(file);
  if (archival === undefined) return { isFlat: false, colourSpaces: undefined };
  return { isFlat: archival.part === 1 || !archival.hasOutputIntent, colourSpaces: calibratedColours() };
}

/**
 * Reads an image of a request. `at`: its JSON Pointer.
 * @throws {Refusal} DOCUMENT_INVALID, UNSUPPORTED
 */
export function pictureOf(bytes: Uint8Array, { colourSpaces }: DrawingRules, at: string): Picture {
  const picture = unlessFaulty(bytes, at);
  if (colourSpaces !== undefined && picture.colours.space === 'CMYK')
    throw new Refusal('UNSUPPORTED', { at, message: 'a JPEG in CMYK is not supported in PDF/A; supported: RGB and gray' });
  return picture;
}

function unlessFaulty(bytes: Uint8Array, at: string): Picture {
  try {
    return readPicture(bytes);
  } catch (error) {
    if (!(error instanceof ImageFault)) throw error;
    throw new Refusal('DOCUMENT_INVALID', { at, message: error.message, cause: error });
  }
}
