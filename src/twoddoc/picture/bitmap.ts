/** A picture of black and white pixels. */
export class Bitmap {
  readonly width: number;
  readonly height: number;
  /** Bytes of a row: eight pixels in each, the leftmost in its highest bit. */
  readonly rowBytes: number;
  /** Row by row from the top. 1 is black; the bits after the last pixel of a row are 0. */
  readonly bytes: Uint8Array;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.rowBytes = (width + 7) >> 3;
    this.bytes = new Uint8Array(this.rowBytes * height);
  }

  isBlack(x: number, y: number): boolean {
    return ((this.bytes[y * this.rowBytes + (x >> 3)] ?? 0) & (0x80 >> (x & 7))) !== 0;
  }

  /** Blackens the pixels of a row from `start` until before `end`. */
  blacken(y: number, start: number, end: number): void {
    const row = y * this.rowBytes;
    for (let x = start; x < end;) {
      const at = row + (x >> 3);
      if ((x & 7) === 0 && x + 8 <= end) {
        this.bytes[at] = 0xff;
        x += 8;
      } else {
        this.bytes[at] = (this.bytes[at] ?? 0) | (0x80 >> (x & 7));
        x += 1;
      }
    }
  }

  /** Makes a row the same as the one above it. */
  repeatRow(y: number): void {
    const start = (y - 1) * this.rowBytes;
    this.bytes.copyWithin(start + this.rowBytes, start, start + this.rowBytes);
  }

  /**
   * Draws the black pixels of another picture, whose upper left corner is at a place of this one.
   */
  draw(other: Bitmap, left: number, top: number): void {
    for (let y = 0; y < other.height; y += 1)
      for (const [start, end] of other.blackRuns(y)) this.blacken(top + y, left + start, left + end);
  }

  /** The runs of black pixels of a row: where each starts, and the pixel after its end. */
  blackRuns(y: number): [start: number, end: number][] {
    const runs: [number, number][] = [];
    let start = -1;
    for (let x = 0; x < this.width; x += 1) {
      const isBlack = this.isBlack(x, y);
      if (isBlack && start < 0) start = x;
      if (!isBlack && start >= 0) runs.push([start, x]);
      if (!isBlack) start = -1;
    }
    if (start >= 0) runs.push([start, this.width]);
    return runs;
  }

  /** Returns the picture turned by 90°. */
  turned(direction: 'CLOCKWISE' | 'COUNTER_CLOCKWISE'): Bitmap {
    const made = new Bitmap(this.height, this.width);
    for (let y = 0; y < this.height; y += 1) {
      for (const [start, end] of this.blackRuns(y)) {
        for (let x = start; x < end; x += 1) {
          if (direction === 'CLOCKWISE') made.blacken(x, this.height - 1 - y, this.height - y);
          else made.blacken(this.width - 1 - x, y, y + 1);
        }
      }
    }
    return made;
  }
}
