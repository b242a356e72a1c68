import { PNG } from 'pngjs';
import { randomNumbers } from './random-numbers.ts';

export interface Scan {
  /** Of the scanner; the picture is printed at the resolution that it states. */
  readonly dpi: number;
  /** How far the paper is turned, clockwise. */
  readonly degrees: number;
  /** Changes the noise. */
  readonly seed: number;
}

/** Grey values of ink and paper, and how far a pixel can be from them. */
const [ink, paper, noise] = [50, 215, 12];
/** Specks of dirt, as a share of all pixels. */
const specks = 0.001;
/** Points in a row of a pixel of the scan, whose mean is its grey. */
const points = 3;

/**
 * Returns a picture as a scanner sees its print: turned, in another resolution, with soft edges, noise and dirt, as a grey PNG.
 * `printedDpi`: pixels of an inch of the print.
 */
export function scannedPrint(picture: Uint8Array, printedDpi: number, { dpi, degrees, seed }: Scan): Buffer {
  const print = PNG.sync.read(Buffer.from(picture));
  const scale = dpi / printedDpi;
  const [sine, cosine] = [Math.sin((degrees * Math.PI) / 180), Math.cos((degrees * Math.PI) / 180)];
  const across = (width: number, height: number): number => Math.ceil(scale * (width * Math.abs(cosine) + height * Math.abs(sine))) + 40;
  const [width, height] = [across(print.width, print.height), across(print.height, print.width)];
  const isInk = (x: number, y: number): boolean => {
    const [fromX, fromY] = [(x - width / 2) / scale, (y - height / 2) / scale];
    const [column, row] = [fromX * cosine + fromY * sine + print.width / 2, fromY * cosine - fromX * sine + print.height / 2].map(
      Math.floor,
    );
    if (column === undefined || row === undefined || column < 0 || row < 0 || column >= print.width || row >= print.height) return false;
    return (print.data[4 * (row * print.width + column)] ?? 255) < 128;
  };
  const random = randomNumbers(seed);
  const scan = new PNG({ width, height });
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    let inked = 0;
    for (let point = 0; point < points ** 2; point += 1)
      if (isInk(x + ((point % points) + 0.5) / points, y + (Math.floor(point / points) + 0.5) / points)) inked += 1;
    const clean = random() < specks ? ink + random() * (paper - ink) : paper + (inked / points ** 2) * (ink - paper);
    scan.data.fill(Math.round(clean + (2 * random() - 1) * noise), 4 * pixel, 4 * pixel + 3);
    scan.data[4 * pixel + 3] = 255;
  }
  return PNG.sync.write(scan, { colorType: 0 });
}
