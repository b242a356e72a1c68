import { describe, expect, it } from 'vitest';
import { readPicture } from '../../src/image/image.ts';
import { ImageFault } from '../../src/image/image-fault.ts';
import { addPicture } from '../../src/pdf/picture-object.ts';
import { PdfFile } from '../../src/pdf/pdf-file.ts';
import { PdfDictionary, PdfStream } from '../../src/pdf/objects.ts';
import { pages } from '../../src/pdf/pages.ts';
import { Revision } from '../../src/pdf/revision.ts';
import { bytesInMemory } from '../../src/asn1/byte-source.ts';
import { renderedPage } from '../support/rendered-page.ts';
import { smallPdf } from '../support/small-pdf.ts';
import { jpegOf } from './made-images.ts';

/** The file without its segments of comments and of what follows the comments. */
function withoutComment(bytes: Buffer): Buffer {
  const at = bytes.indexOf(Buffer.of(0xff, 0xfe));
  return at < 0 ? bytes : Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 2 + bytes.readUInt16BE(at + 2))]);
}

/** A page that an image fills. */
function pageWith(image: Buffer): Buffer {
  const pdf = smallPdf({ width: 100, height: 100 });
  const file = new PdfFile(bytesInMemory(pdf));
  const revision = new Revision(file);
  const reference = addPicture(revision, readPicture(image), { isFlat: false });
  const [page] = pages(file);
  if (page === undefined) throw new Error('no page');
  const content = revision.add(new PdfStream(new PdfDictionary(), Buffer.from('100 0 0 100 0 0 cm /Im Do')));
  const resources = PdfDictionary.of({ XObject: PdfDictionary.of({ Im: reference }) });
  revision.set(page.reference, page.dictionary.with({ Contents: content, Resources: resources }));
  return Buffer.concat([pdf, revision.write().bytes]);
}

describe('a JPEG', () => {
  it.each([
    ['gray', jpegOf({ components: [200] }), { space: 'GRAY' }],
    ['RGB', jpegOf({ components: [200, 128, 128] }), { space: 'RGB' }],
    ['CMYK', jpegOf({ components: [200, 10, 20, 30] }), { space: 'CMYK', isInverted: false }],
    ['CMYK by a program of Adobe', jpegOf({ components: [200, 10, 20, 30], isOfAdobe: true }), { space: 'CMYK', isInverted: true }],
  ])('passes through but for its metadata: %s', (_name, bytes, colours) => {
    const picture = readPicture(bytes);
    expect(picture).toMatchObject({ width: 8, height: 8, bitsPerComponent: 8, encoding: { kind: 'JPEG' }, colours });
    expect(Buffer.from(picture.bytes).equals(withoutComment(bytes))).toBe(true);
  });

  it('loses metadata of cameras and what is behind its end, and keeps its colour profile', () => {
    const plain = jpegOf({ components: [200, 128, 128] });
    const segment = (marker: number, text: string): Buffer => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(text.length + 2);
      return Buffer.concat([Buffer.of(0xff, marker), length, Buffer.from(text, 'latin1')]);
    };
    const added = [
      segment(0xe1, 'Exif\0\0 48.85 N'),
      segment(0xe2, 'ICC_PROFILE\0profile'),
      segment(0xe2, 'MPF\0'),
      segment(0xed, 'Photoshop'),
    ];
    const { bytes } = readPicture(Buffer.concat([plain.subarray(0, 2), ...added, plain.subarray(2), Buffer.from('TRAILING')]));
    const text = Buffer.from(bytes).toString('latin1');
    expect(['Exif', 'MPF', 'Photoshop', 'TRAILING', 'ICC_PROFILE'].filter((one) => text.includes(one))).toEqual(['ICC_PROFILE']);
    expect(text.endsWith('\xff\xd9')).toBe(true);
  });

  it.each([
    ['gray', jpegOf({ components: [60] }), [60, 60, 60]],
    ['white', jpegOf({ components: [255, 128, 128] }), [255, 255, 255]],
    ['no ink at all', jpegOf({ components: [0, 0, 0, 0] }), [255, 255, 255]],
    ['no ink at all by a program of Adobe', jpegOf({ components: [255, 255, 255, 255], isOfAdobe: true }), [255, 255, 255]],
    ['all cyan by a program of Adobe', jpegOf({ components: [0, 255, 255, 255], isOfAdobe: true }), [0, 255, 255]],
  ])('looks on a page as it should: %s', (_name, bytes, colour) => {
    const shown = renderedPage(pageWith(bytes)).colour(50, 50);
    const distances = shown.map((value, index) => Math.abs(value - (colour[index] ?? 0)));
    // Cyan ink is no exact colour of a screen.
    expect(Math.max(...distances)).toBeLessThan(colour[0] === colour[2] ? 4 : 100);
  });

  const sound = jpegOf({ components: [1, 2, 3] });
  const scan = sound.lastIndexOf(Buffer.of(0xff, 0xda));
  /** With another size in its frame; `byte`: each of those of the height and the width. */
  const sized = (byte: number): Buffer => {
    const frame = sound.indexOf(Buffer.of(0xff, 0xc0));
    return Buffer.from(sound).fill(byte, frame + 5, frame + 9);
  };
  it.each<[string, Buffer, string]>([
    ['with 12 bits', jpegOf({ components: [1], bits: 12 }), 'more than 8 bits'],
    ['that is lossless', jpegOf({ components: [1], frame: 0xc3 }), 'of a kind that PDF does not know'],
    ['with arithmetic coding', jpegOf({ components: [1], frame: 0xc9 }), 'of a kind that PDF does not know'],
    ['with two components', jpegOf({ components: [1, 2] }), '2 components'],
    ['without rows', sized(0), 'no pixels'],
    ['that is too large', sized(0xff), 'pixels'],
    ['with two frames', Buffer.concat([sound.subarray(0, scan), sound.subarray(scan - 200, scan), sound.subarray(scan)]), 'damaged'],
    ['whose first scan is missing', sound.subarray(0, scan), 'damaged'],
    ['without its end', sound.subarray(0, -2), 'damaged'],
    ['with an end before its scan', Buffer.concat([sound.subarray(0, scan), Buffer.of(0xff, 0xd9), sound.subarray(scan)]), 'damaged'],
    ['with a segment that is longer than the file', Buffer.concat([sound.subarray(0, scan), Buffer.of(0xff, 0xe1, 0xff, 0xff)]), 'damaged'],
    [
      'with a segment without a length',
      Buffer.concat([sound.subarray(0, scan), Buffer.of(0xff, 0xe1, 0, 0), sound.subarray(scan)]),
      'damaged',
    ],
    ['that is nothing but fill bytes', Buffer.concat([Buffer.of(0xff, 0xd8), Buffer.alloc(100_000, 0xff)]), 'damaged'],
  ])('is refused: one %s', (_name, bytes, message) => {
    expect(() => readPicture(bytes)).toThrow(ImageFault);
    expect(() => readPicture(bytes)).toThrow(message);
  });

  it('is read or refused wherever it is cut off or changed', () => {
    for (let at = 0; at < sound.length; at += 1) {
      expect(() => readPicture(sound.subarray(0, at)), `length ${at}`).toThrow(ImageFault);
      const changed = Buffer.from(sound);
      changed[at] = (changed[at] ?? 0) ^ 0xff;
      try {
        readPicture(changed);
      } catch (error) {
        expect(error).toBeInstanceOf(ImageFault);
      }
    }
  });

  it('may have fill bytes before its markers, and others behind its end', () => {
    const filled = Buffer.concat([sound.subarray(0, scan), Buffer.alloc(7, 0xff), sound.subarray(scan), Buffer.alloc(30)]);
    expect(readPicture(filled)).toMatchObject({ width: 8, colours: { space: 'RGB' } });
  });
});

describe('another file', () => {
  it.each(['', 'BM', 'RIFF....WEBP', '<svg/>', '\xff\xd8', 'GIF88a'])('is refused: %j', (text) => {
    expect(() => readPicture(Buffer.from(text, 'latin1'))).toThrow('the image is no JPEG, PNG or GIF');
  });
});
