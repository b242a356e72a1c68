import { GifReader } from 'omggif';
import type { Picture } from './picture.ts';
import { checkSize, ImageFault } from './image-fault.ts';

/** Reads a GIF file with one frame. @throws {ImageFault} */
export function gifPicture(bytes: Uint8Array): Picture {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (view.length < 13) throw new ImageFault('the GIF is damaged');
  const [width, height] = [view.readUInt16LE(6), view.readUInt16LE(8)];
  checkSize(width, height, { isDecoded: true });
  const pixels = rgbaOf(bytes, width, height);
  const colours = Buffer.alloc(width * height * 3);
  const alpha = Buffer.alloc(width * height);
  let isOpaque = true;
  for (let index = 0; index < alpha.length; index += 1) {
    colours.set(pixels.subarray(4 * index, 4 * index + 3), 3 * index);
    const opacity = pixels[4 * index + 3] ?? 0;
    alpha[index] = opacity;
    if (opacity !== 255) isOpaque = false;
  }
  return {
    ...{ width, height, bitsPerComponent: 8, encoding: { kind: 'RAW' }, bytes: colours, colours: { space: 'RGB' } },
    alpha: isOpaque ? undefined : alpha,
  };
}

/** The frame in its place on the screen; what it leaves free is transparent. */
function rgbaOf(bytes: Uint8Array, width: number, height: number): Uint8Array {
  let frames = 0;
  try {
    const reader = new GifReader(bytes);
    frames = reader.numFrames();
    if (frames === 1) {
      const { x, y, width: frameWidth, height: frameHeight, palette_offset: palette, data_offset: data } = reader.frameInfo(0);
      if (x + frameWidth > width || y + frameHeight > height)
        throw new ImageFault('the GIF is damaged: its frame is larger than its screen');
      // The decoder takes what there is for what there should be.
      if (palette === null || pixelsOf(bytes, data) !== frameWidth * frameHeight) throw new ImageFault('the GIF is damaged');
      const pixels = new Uint8Array(width * height * 4);
      reader.decodeAndBlitFrameRGBA(0, pixels);
      return pixels;
    }
  } catch (error) {
    if (error instanceof ImageFault) throw error;
    throw new ImageFault('the GIF is damaged', { cause: error });
  }
  throw new ImageFault(frames > 1 ? 'the GIF is animated' : 'the GIF has no frame');
}

/**
 * Returns how many pixels the data of a frame have (GIF89a, appendix F). `start`: of the data,
 * where the size of the codes is.
 */
function pixelsOf(bytes: Uint8Array, start: number): number {
  const codeBits = bytes[start] ?? 0;
  if (codeBits < 2 || codeBits > 8) return 0;
  const clear = 1 << codeBits;
  const lengths = new Uint16Array(4096).fill(1, 0, clear);
  let [next, width, previous, pixels, held, bits] = [clear + 2, codeBits + 1, 0, 0, 0, 0];
  for (let at = start + 1; ; at += 1) {
    const blockEnd = at + (bytes[at] ?? 0);
    if (blockEnd === at || blockEnd >= bytes.length) return pixels;
    while (at < blockEnd) {
      at += 1;
      held |= (bytes[at] ?? 0) << bits;
      for (bits += 8; bits >= width;) {
        const code = held & ((1 << width) - 1);
        held >>= width;
        bits -= width;
        if (code === clear + 1) return pixels;
        if (code === clear) {
          [next, width, previous] = [clear + 2, codeBits + 1, 0];
          continue;
        }
        if (code > next || (code === next && previous === 0)) return 0;
        const length = code < next ? (lengths[code] ?? 0) : previous + 1;
        pixels += length;
        if (previous > 0 && next < 4096) {
          lengths[next] = previous + 1;
          next += 1;
          if (next === 1 << width && width < 12) width += 1;
        }
        previous = length;
      }
    }
  }
}
