import { deflateSync, crc32 } from 'node:zlib';

/** A PNG of one colour, base64. */
export function pngOf(width: number, height: number, [red, green, blue]: readonly [number, number, number]): string {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.concat([Buffer.of(0), Buffer.concat(Array.from({ length: width }, () => Buffer.of(red, green, blue)))]);
  const rows = Buffer.concat(Array.from({ length: height }, () => row));
  const start = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([start, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.of())]).toString('base64');
}
