import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PNG } from 'pngjs';
import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader';

/** A code as two readers of Data Matrix read it from a picture; undefined if a reader finds none. */
export interface ReadByOthers {
  readonly dmtxread: Buffer | undefined;
  readonly zxing: Buffer | undefined;
}

/** Has a PNG, or a TIFF of one bit for each pixel, read by dmtxread (libdmtx) and by ZXing. */
export async function readByOthers(picture: Uint8Array): Promise<ReadByOthers> {
  const [dmtxread, zxing] = await Promise.all([readByDmtxread(picture), readByZxing(picture)]);
  return { dmtxread, zxing };
}

/** At the same time: the machine has other work, too. */
const processesMax = 3;
let running = 0;
const waiting: (() => void)[] = [];

/** Stops after the first symbol: most of its time goes into looking for more. `options`: others of dmtxread. */
export async function readByDmtxread(picture: Uint8Array, options: readonly string[] = []): Promise<Buffer | undefined> {
  if (running >= processesMax) await new Promise<void>((resolve) => waiting.push(resolve));
  running += 1;
  try {
    const reading = promisify(execFile)('dmtxread', ['--stop-after=1', '--milliseconds=20000', ...options], { encoding: 'buffer' });
    reading.child.stdin?.end(picture);
    return (await reading).stdout;
  } catch (error) {
    // Its exit code if there is no symbol.
    if (error instanceof Error && 'code' in error && error.code === 1) return undefined;
    throw error;
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}

const zxingModule = createRequire(import.meta.url).resolve('zxing-wasm/reader/zxing_reader.wasm');
let isPrepared = false;

export async function readByZxing(picture: Uint8Array): Promise<Buffer | undefined> {
  // It would be fetched from the network otherwise.
  if (!isPrepared) await prepareZXingModule({ overrides: { wasmBinary: arrayBuffer(readFileSync(zxingModule)) }, fireImmediately: true });
  isPrepared = true;
  const png = picture[0] === 0x89 ? picture : pngOfTiff(picture);
  const [symbol] = await readBarcodes(Uint8Array.from(png), { formats: ['DataMatrix'], maxNumberOfSymbols: 1 });
  return symbol?.isValid === true ? Buffer.from(symbol.bytes) : undefined;
}

function arrayBuffer(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer;
}

/** The same picture as a PNG, since ZXing reads no TIFF: libtiff decodes it. */
function pngOfTiff(tiff: Uint8Array): Buffer {
  const { width, height, rows } = tiffRows(tiff);
  const rowBytes = Math.ceil(width / 8);
  const png = new PNG({ width, height, colorType: 0 });
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    const isBlack = ((rows[y * rowBytes + (x >> 3)] ?? 0) & (0x80 >> (x & 7))) !== 0;
    png.data.fill(isBlack ? 0 : 255, 4 * pixel, 4 * pixel + 3);
    png.data[4 * pixel + 3] = 255;
  }
  return PNG.sync.write(png, { colorType: 0 });
}

/** Rows of a bilevel TIFF as libtiff decodes them; 1 is black. @throws for what libtiff warns of */
export function tiffRows(tiff: Uint8Array): { readonly width: number; readonly height: number; readonly rows: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'signetd-tiff-'));
  try {
    const [from, to] = [join(folder, 'from.tiff'), join(folder, 'to.tiff')];
    writeFileSync(from, tiff);
    const { stderr, status } = spawnSync('tiffcp', ['-c', 'none', '-r', '100000', from, to], { encoding: 'utf8' });
    if (status !== 0 || stderr !== '') throw new Error(`tiffcp: ${stderr}`);
    const copy = readFileSync(to);
    const field = fieldsOf(copy);
    if (field(262) !== 0) throw new Error('white is 0 in the TIFF files of this service');
    return { width: field(256), height: field(257), rows: copy.subarray(field(273), field(273) + field(279)) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Fields with one value of the first directory of a little-endian TIFF. */
function fieldsOf(tiff: Buffer): (tag: number) => number {
  const directory = tiff.readUInt32LE(4);
  return (tag) => {
    for (let index = 0; index < tiff.readUInt16LE(directory); index += 1) {
      const at = directory + 2 + 12 * index;
      if (tiff.readUInt16LE(at) !== tag) continue;
      return tiff.readUInt16LE(at + 2) === 3 ? tiff.readUInt16LE(at + 8) : tiff.readUInt32LE(at + 8);
    }
    throw new Error(`the TIFF has no field ${tag}`);
  };
}
