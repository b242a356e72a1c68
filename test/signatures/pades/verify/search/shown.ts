import { spawnSync } from 'node:child_process';
import type { Rectangle } from '../../../../../src/pdf/pages.ts';

/** What poppler shows of a file. Each is made where it is asked for. */
export interface Shown {
  /** Pictures of all pages without their annotations and fields, as PGM. */
  readonly pages: () => Buffer;
  /** With them. */
  readonly annotated: () => Buffer;
  readonly text: () => string;
  /** The structure with its text, and the destinations. */
  readonly structure: () => string;
}

const dotsPerInch = 24;
const pointsPerInch = 72;

function output(program: string, options: readonly string[]): Buffer {
  const { stdout, error } = spawnSync(program, options, {
    maxBuffer: 64 * 1024 * 1024,
    timeout: 60_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (error !== undefined) throw error;
  return stdout;
}

/** Returns what a file shows, which must be there as long as it is asked. */
export function shownOf(path: string): Shown {
  const picture = ['-r', String(dotsPerInch), '-gray'];
  return {
    pages: () => output('pdftoppm', [...picture, '-hide-annotations', path]),
    annotated: () => output('pdftoppm', [...picture, path]),
    text: () => output('pdftotext', [path, '-']).toString(),
    structure: () => ['-struct-text', '-dests'].map((option) => output('pdfinfo', [option, path]).toString()).join('\n'),
  };
}

/** Returns the same, kept once it was made. */
export function keptShown(path: string): Shown {
  const shown = shownOf(path);
  const kept = { pages: shown.pages(), annotated: shown.annotated(), text: shown.text(), structure: shown.structure() };
  return { pages: () => kept.pages, annotated: () => kept.annotated, text: () => kept.text, structure: () => kept.structure };
}

/**
 * Where a revision may show something that was not shown before: nowhere, in comments, which may be
 * anywhere, or in a field with this rectangle.
 */
export type Area = 'NOTHING' | 'COMMENTS' | Rectangle;

/** A difference of pictures, in pixels of its page: the smallest rectangle with all of it. */
interface Difference {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly height: number;
}

interface Picture {
  readonly width: number;
  readonly height: number;
  readonly dots: Buffer;
}

function picturesIn(pgm: Buffer): readonly Picture[] {
  const found: Picture[] = [];
  for (let at = 0; at < pgm.length;) {
    const [head = '', width = '', height = ''] = /^P5\s+(\d+)\s+(\d+)\s+255\s/.exec(pgm.toString('latin1', at, at + 40)) ?? [];
    const size = Number(width) * Number(height);
    if (head === '') throw new Error('no picture');
    found.push({ width: Number(width), height: Number(height), dots: pgm.subarray(at + head.length, at + head.length + size) });
    at += head.length + size;
  }
  return found;
}

/** Returns where pictures differ; undefined if there are more or other pages. */
function differences(before: Buffer, after: Buffer): readonly Difference[] | undefined {
  if (before.equals(after)) return [];
  const [old, now] = [picturesIn(before), picturesIn(after)];
  if (old.length !== now.length) return undefined;
  const found: Difference[] = [];
  for (const [page, { width, height, dots }] of now.entries()) {
    const was = old[page];
    if (was?.width !== width || was.height !== height) return undefined;
    const places = Array.from(dots.keys()).filter((at) => dots[at] !== was.dots[at]);
    if (places.length === 0) continue;
    const [columns, rows] = [places.map((at) => at % width), places.map((at) => Math.floor(at / width))];
    found.push({
      ...{ height, left: Math.min(...columns), right: Math.max(...columns) + 1 },
      ...{ top: Math.min(...rows), bottom: Math.max(...rows) + 1 },
    });
  }
  return found;
}

function isWithin({ left, right, top, bottom, height }: Difference, { left: x, right: x2, bottom: y, top: y2 }: Rectangle): boolean {
  const points = (dots: number): number => (dots * pointsPerInch) / dotsPerInch;
  // Edges of what is drawn spread over a dot.
  const edge = points(1.5);
  const isWide = points(left) >= x - edge && points(right) <= x2 + edge;
  return isWide && points(height - bottom) >= y - edge && points(height - top) <= y2 + edge;
}

/**
 * Returns what a file shows that its signed revision does not, beside what it may show. Undefined:
 * nothing. `isRotated`: some page is, or has another unit, so that places in it are others.
 */
export function shownElse(before: Shown, after: Shown, area: Area, isRotated: boolean): string | undefined {
  if (!before.pages().equals(after.pages())) return 'a page without its annotations';
  if (before.structure() !== after.structure()) return 'the structure';
  if (area === 'COMMENTS') return undefined;
  if (area === 'NOTHING') {
    if (!before.annotated().equals(after.annotated())) return 'annotations';
    return before.text() === after.text() ? undefined : 'the text';
  }
  const found = differences(before.annotated(), after.annotated());
  if (found === undefined) return 'another number or size of pages';
  if (isRotated) return undefined;
  const outside = found.find((one) => !isWithin(one, area));
  return outside === undefined ? undefined : `something outside of the field: ${JSON.stringify(outside)}`;
}
