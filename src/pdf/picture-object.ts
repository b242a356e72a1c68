import { deflateSync } from 'node:zlib';
import type { Picture } from '../image/picture.ts';
import { PdfDictionary, PdfName, PdfStream, type PdfObject, type PdfReference } from './objects.ts';
import type { Revision } from './revision.ts';

/**
 * Adds a picture as an image XObject (ISO 32000-2, 8.9.5). `isFlat`: transparent pixels become
 * white, as PDF/A-1 wants it, instead of a soft mask.
 */
export function addPicture(revision: Revision, picture: Picture, { isFlat }: { readonly isFlat: boolean }): PdfReference {
  const { width, height, alpha } = picture;
  const flat = alpha !== undefined && isFlat ? flattened(picture, alpha) : picture;
  const mask = alpha === undefined || isFlat ? undefined : revision.add(maskOf(alpha, width, height));
  const dictionary = PdfDictionary.of({
    ...{ Type: new PdfName('XObject'), Subtype: new PdfName('Image'), Width: width, Height: height },
    ...{ BitsPerComponent: flat.bitsPerComponent, ColorSpace: colourSpace(flat, revision), ...encodingOf(flat) },
    Decode: flat.colours.space === 'CMYK' && flat.colours.isInverted ? [1, 0, 1, 0, 1, 0, 1, 0] : undefined,
    SMask: mask,
  });
  return revision.add(new PdfStream(dictionary, flat.encoding.kind === 'RAW' ? deflateSync(flat.bytes) : flat.bytes));
}

function colourSpace({ colours }: Picture, revision: Revision): PdfObject {
  if (colours.space !== 'INDEXED') return new PdfName({ GRAY: 'DeviceGray', RGB: 'DeviceRGB', CMYK: 'DeviceCMYK' }[colours.space]);
  const palette = revision.add(new PdfStream(new PdfDictionary(), colours.palette));
  return [new PdfName('Indexed'), new PdfName('DeviceRGB'), colours.palette.length / 3 - 1, palette];
}

function encodingOf({ encoding, colours, bitsPerComponent, width }: Picture): Readonly<Record<string, PdfObject>> {
  if (encoding.kind === 'JPEG') return { Filter: new PdfName('DCTDecode') };
  if (encoding.kind === 'RAW') return { Filter: new PdfName('FlateDecode') };
  const components = colours.space === 'RGB' ? 3 : 1;
  return {
    Filter: new PdfName('FlateDecode'),
    DecodeParms: PdfDictionary.of({ Predictor: 15, Colors: components, BitsPerComponent: bitsPerComponent, Columns: width }),
  };
}

function maskOf(alpha: Uint8Array, width: number, height: number): PdfStream {
  const dictionary = PdfDictionary.of({
    ...{ Type: new PdfName('XObject'), Subtype: new PdfName('Image'), Width: width, Height: height },
    ...{ BitsPerComponent: 8, ColorSpace: new PdfName('DeviceGray'), Filter: new PdfName('FlateDecode') },
  });
  return new PdfStream(dictionary, deflateSync(alpha));
}

/** A picture with transparency has three bytes of colours for each pixel. */
function flattened(picture: Picture, alpha: Uint8Array): Picture {
  const bytes = Uint8Array.from(picture.bytes, (colour, index) => {
    const opacity = alpha[Math.floor(index / 3)] ?? 255;
    return Math.round((colour * opacity + 255 * (255 - opacity)) / 255);
  });
  return { ...picture, bytes };
}
