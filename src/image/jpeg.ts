import type { Picture } from './picture.ts';
import { checkSize, ImageFault } from './image-fault.ts';

/**
 * Start of frame (ITU-T T.81, table B.1): baseline, extended and progressive, with Huffman coding.
 */
const framesRead = [0xc0, 0xc1, 0xc2];
/**
 * The other frames: hierarchical, lossless, or with arithmetic coding, which no PDF reader knows.
 */
const framesOther = [0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf];
const startOfScan = 0xda;
const endOfImage = 0xd9;
/** Markers without a length (table B.1): they have no place before the first scan. */
const isBare = (marker: number): boolean => marker <= 0x01 || (marker >= 0xd0 && marker <= endOfImage);
const adobe = 0xee;

/**
 * Segments of applications and comments: what they say is nobody's business in a signed document.
 */
const isMetadata = (marker: number): boolean => (marker >= 0xe1 && marker <= 0xef) || marker === 0xfe;
const iccProfile = 'ICC_PROFILE\0';

/**
 * Reads a JPEG file, whose bytes a PDF takes as they are, but for metadata (such as where a photo
 * was taken) and what is behind its end.
 * @throws {ImageFault}
 */
export function jpegPicture(bytes: Uint8Array): Picture {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let frame: { readonly width: number; readonly height: number; readonly components: number } | undefined;
  let isOfAdobe = false;
  const kept: Buffer[] = [view.subarray(0, 2)];
  for (let at = 2; ;) {
    if (view[at] !== 0xff) throw damaged();
    const segmentAt = at;
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
    const isColour = marker === adobe || view.toString('latin1', segmentAt + 4, segmentAt + 4 + iccProfile.length) === iccProfile;
    if (marker === startOfScan) {
      // Without its end, a part of the picture is missing.
      const end = view.lastIndexOf(Buffer.of(0xff, endOfImage));
      if (end <= at) throw damaged();
      kept.push(view.subarray(segmentAt, endOf(view, at, end)));
      break;
    }
    if (!isMetadata(marker) || isColour) kept.push(view.subarray(segmentAt, at));
  }
  if (frame === undefined) throw damaged();
  const { width, height, components } = frame;
  checkSize(width, height, { isDecoded: false });
  const shared = { width, height, bitsPerComponent: 8, encoding: { kind: 'JPEG' }, bytes: Buffer.concat(kept) } as const;
  if (components === 1) return { ...shared, colours: { space: 'GRAY' } };
  if (components === 3) return { ...shared, colours: { space: 'RGB' } };
  if (components === 4) return { ...shared, colours: { space: 'CMYK', isInverted: isOfAdobe } };
  throw new ImageFault(`the JPEG has ${components} components`);
}

/**
 * Returns where the picture ends: at the first end of image that is no part of a segment between
 * scans. `last`: an offset of one.
 */
function endOf(view: Buffer, from: number, last: number): number {
  for (let at = view.indexOf(0xff, from); at >= 0 && at < last; at = view.indexOf(0xff, at)) {
    const marker = view[at + 1] ?? 0;
    if (marker === endOfImage) return at + 2;
    const hasLength = marker !== 0xff && !isBare(marker);
    at += hasLength && at + 4 <= view.length ? 2 + view.readUInt16BE(at + 2) : marker === 0xff ? 1 : 2;
  }
  return last + 2;
}

function damaged(): ImageFault {
  return new ImageFault('the JPEG is damaged');
}
