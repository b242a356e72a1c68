import { GifReader } from 'omggif';
import type { Picture } from './picture.ts';
import { checkSize, ImageFault } from './image-fault.ts';

/** Reads a GIF file with one frame. @throws {ImageFault} */
export function gifPicture(bytes: Uint8Array): Picture {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (view.length < 13) throw new ImageFault('the GIF is damaged');
  const [width, height] = [view.readUInt16LE(6), view.readUInt16LE(8)];
  checkSize(width, height);
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
      const { x, y, width: frameWidth, height: frameHeight } = reader.frameInfo(0);
      if (x + frameWidth > width || y + frameHeight > height)
        throw new ImageFault('the GIF is damaged: its frame is larger than its screen');
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
