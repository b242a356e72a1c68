import type { Picture } from './picture.ts';
import { checkSize, ImageFault } from './image-fault.ts';

/** Start of frame (ITU-T T.81, table B.1): baseline, extended and progressive, with Huffman coding. */
const framesRead = [0xc0, 0xc1, 0xc2];
/** The other frames: hierarchical, lossless, or with arithmetic coding, which no PDF reader knows. */
const framesOther = [0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf];
const startOfScan = 0xda;
const endOfImage = 0xd9;
/** Markers without a length (table B.1): they have no place before the first scan. */
const isBare = (marker: number): boolean => marker <= 0x01 || (marker >= 0xd0 && marker <= endOfImage);
const adobe = 0xee;

/** Reads a JPEG file, whose bytes a PDF takes as they are. @throws {ImageFault} */
export function jpegPicture(bytes: Uint8Array): Picture {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let frame: { readonly width: number; readonly height: number; readonly components: number } | undefined;
  let isOfAdobe = false;
  for (let at = 2; ;) {
    if (view[at] !== 0xff) throw damaged();
    while (view[at] === 0xff) at += 1;
    const marker = view[at] ?? 0;
    at += 1;
    if (isBare(marker) || at + 2 > view.length) throw damaged();
    const length = view.readUInt16BE(at);
    if (length < 2 || at + length > view.length) throw damaged();
    if (framesOther.includes(marker)) throw new ImageFault('the JPEG is of a kind that PDF does not know');
    if (framesRead.includes(marker)) {
      const components = view[at + 7] ?? 0;
      if (frame !== undefined || length !== 8 + 3 * components) throw damaged();
      if (view[at + 2] !== 8) throw new ImageFault('the JPEG has more than 8 bits for each component');
      frame = { height: view.readUInt16BE(at + 3), width: view.readUInt16BE(at + 5), components };
    }
    if (marker === adobe && view.toString('latin1', at + 2, at + 7) === 'Adobe') isOfAdobe = true;
    at += length;
    if (marker === startOfScan) {
      // Without its end, a part of the picture is missing.
      if (view.lastIndexOf(Buffer.of(0xff, endOfImage)) <= at) throw damaged();
      break;
    }
  }
  if (frame === undefined) throw damaged();
  const { width, height, components } = frame;
  checkSize(width, height, { isDecoded: false });
  const shared = { width, height, bitsPerComponent: 8, encoding: { kind: 'JPEG' }, bytes } as const;
  if (components === 1) return { ...shared, colours: { space: 'GRAY' } };
  if (components === 3) return { ...shared, colours: { space: 'RGB' } };
  if (components === 4) return { ...shared, colours: { space: 'CMYK', isInverted: isOfAdobe } };
  throw new ImageFault(`the JPEG has ${components} components`);
}

function damaged(): ImageFault {
  return new ImageFault('the JPEG is damaged');
}
