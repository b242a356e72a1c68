import { inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Picture } from '../../src/image/picture.ts';
import { objectText } from '../../src/pdf/object-text.ts';
import { PdfReference, PdfStream, type PdfObject } from '../../src/pdf/objects.ts';
import { addPicture } from '../../src/pdf/picture-object.ts';
import { Revision } from '../../src/pdf/revision.ts';
import { madePdf, usualObjects } from './made-pdf.ts';
import { opened } from './opened.ts';

/** What a revision has for a picture: its dictionary as text, its bytes, and its revision. */
function added(
  picture: Partial<Picture>,
  isFlat = false,
): { readonly text: string; readonly bytes: Buffer; readonly resolved: (object: PdfObject) => PdfObject; readonly stream: PdfStream } {
  const revision = new Revision(opened(madePdf(usualObjects())));
  const usual: Picture = {
    ...{ width: 2, height: 1, colours: { space: 'RGB' }, bitsPerComponent: 8, encoding: { kind: 'RAW' } },
    bytes: Buffer.of(0, 100, 200, 255, 0, 50),
  };
  const stream = revision.resolved(addPicture(revision, { ...usual, ...picture }, { isFlat }));
  if (!(stream instanceof PdfStream) || !(stream.encoded instanceof Uint8Array)) throw new Error('no stream of its own');
  return {
    ...{ text: objectText(stream.dictionary), bytes: Buffer.from(stream.encoded), stream },
    resolved: (object) => revision.resolved(object),
  };
}

const size = '/Type /XObject/Subtype /Image/Width 2/Height 1';

describe('a picture in a PDF', () => {
  it.each<[string, Partial<Picture>, string]>([
    ['RGB', {}, '/BitsPerComponent 8/ColorSpace /DeviceRGB/Filter /FlateDecode'],
    ['grey', { colours: { space: 'GRAY' }, bitsPerComponent: 4 }, '/BitsPerComponent 4/ColorSpace /DeviceGray/Filter /FlateDecode'],
    [
      'rows of PNG',
      { encoding: { kind: 'PNG_ROWS' } },
      '/BitsPerComponent 8/ColorSpace /DeviceRGB/Filter /FlateDecode/DecodeParms <</Predictor 15/Colors 3/BitsPerComponent 8/Columns 2>>',
    ],
    [
      'grey rows of PNG',
      { encoding: { kind: 'PNG_ROWS' }, colours: { space: 'GRAY' }, bitsPerComponent: 1 },
      '/BitsPerComponent 1/ColorSpace /DeviceGray/Filter /FlateDecode/DecodeParms <</Predictor 15/Colors 1/BitsPerComponent 1/Columns 2>>',
    ],
    ['JPEG', { encoding: { kind: 'JPEG' } }, '/BitsPerComponent 8/ColorSpace /DeviceRGB/Filter /DCTDecode'],
    [
      'JPEG for printers',
      { encoding: { kind: 'JPEG' }, colours: { space: 'CMYK', isInverted: false } },
      '/BitsPerComponent 8/ColorSpace /DeviceCMYK/Filter /DCTDecode',
    ],
    [
      'JPEG for printers as Adobe writes it',
      { encoding: { kind: 'JPEG' }, colours: { space: 'CMYK', isInverted: true } },
      '/BitsPerComponent 8/ColorSpace /DeviceCMYK/Filter /DCTDecode/Decode [1 0 1 0 1 0 1 0]',
    ],
  ])('is written as it is encoded: %s', (_what, picture, expected) => {
    const { text, bytes } = added(picture);
    expect(text.replaceAll(/(\/\w+) (?=[\w/[<])/g, '$1 ')).toBe(`<<${size}${expected}>>`);
    const { bytes: own = Buffer.of(0, 100, 200, 255, 0, 50), encoding = { kind: 'RAW' } } = picture;
    expect(encoding.kind === 'RAW' ? inflateSync(bytes) : bytes).toEqual(Buffer.from(own));
  });

  it('with a palette has that in an object of its own', () => {
    const palette = Buffer.of(1, 2, 3, 4, 5, 6, 7, 8, 9);
    const { text, stream, resolved } = added({ colours: { space: 'INDEXED', palette }, bitsPerComponent: 2, bytes: Buffer.of(0x60) });
    expect(text).toMatch(/\/ColorSpace \[\/Indexed \/DeviceRGB 2 \d+ 0 R\]/);
    const space = stream.dictionary.get('ColorSpace') as readonly PdfObject[];
    expect(resolved(space[3] ?? null)).toEqual(expect.objectContaining({ encoded: palette }));
  });

  it('with transparent pixels has a mask of grey', () => {
    const { stream, bytes, resolved } = added({ alpha: Buffer.of(0, 128) });
    const mask = resolved(stream.dictionary.get('SMask'));
    if (!(mask instanceof PdfStream) || !(mask.encoded instanceof Uint8Array)) throw new Error('no mask');
    expect(objectText(mask.dictionary)).toBe(`<<${size}/BitsPerComponent 8/ColorSpace /DeviceGray/Filter /FlateDecode>>`);
    expect(inflateSync(mask.encoded)).toEqual(Buffer.of(0, 128));
    expect(inflateSync(bytes)).toEqual(Buffer.of(0, 100, 200, 255, 0, 50));
    expect(stream.dictionary.get('SMask')).toBeInstanceOf(PdfReference);
  });

  it('with transparent pixels is on white where no mask is allowed', () => {
    const { text, bytes } = added({ alpha: Buffer.of(0, 128) }, true);
    expect(text).not.toContain('SMask');
    expect(inflateSync(bytes)).toEqual(Buffer.of(255, 255, 255, 255, 127, 152));
    const nearly = added({ alpha: Buffer.of(128, 254), bytes: Buffer.of(3, 4, 5, 0, 127, 128) }, true);
    expect(inflateSync(nearly.bytes)).toEqual(Buffer.of(129, 129, 130, 1, 128, 128));
    const opaque = added({}, true);
    expect(inflateSync(opaque.bytes)).toEqual(Buffer.of(0, 100, 200, 255, 0, 50));
  });
});
