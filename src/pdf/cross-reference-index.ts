import type { CrossReferenceEntry, CrossReferenceSection, Subsection } from './cross-reference-section.ts';
import { PdfFault } from './pdf-fault.ts';
import type { WorkLimit } from './work-limit.ts';

/** Objects whose entry is in the same place. */
interface Segment {
  readonly first: number;
  /** Behind the last one. */
  readonly end: number;
  readonly subsection: Subsection;
  /** Of a hybrid: where the entry is, if the table says that the object is free. */
  readonly hidden: readonly Segment[];
}

const none: CrossReferenceEntry = { kind: 'FREE', next: 0, generation: 65_535 };

/**
 * Tells by a binary search where the newest entry of an object is, however many sections there are.
 */
export class CrossReferenceIndex {
  readonly #segments: readonly Segment[];

  /**
   * `sections`: from the newest to the oldest.
   * @throws {PdfFault} for a section that names an object twice
   */
  constructor(sections: readonly CrossReferenceSection[]) {
    this.#segments = merged(sections.map(segmentsOf));
  }

  /** One more than the highest number. */
  get end(): number {
    return this.#segments.at(-1)?.end ?? 0;
  }

  entry(number: number): CrossReferenceEntry {
    const segment = found(this.#segments, number);
    if (segment === undefined) return none;
    const entry = entryIn(segment, number);
    if (entry.kind !== 'FREE') return entry;
    const hidden = found(segment.hidden, number);
    return hidden === undefined ? entry : entryIn(hidden, number);
  }

  /** Yields the objects that are not free, with their entries. `work` counts the entries. */
  *inUse(work: WorkLimit): Generator<readonly [number: number, entry: Exclude<CrossReferenceEntry, { kind: 'FREE' }>], void> {
    for (const { first, end } of this.#segments) {
      work.entries(end - first);
      for (let number = first; number < end; number += 1) {
        const entry = this.entry(number);
        if (entry.kind !== 'FREE') yield [number, entry];
      }
    }
  }

  /**
   * Returns the lowest number from `start` on whose object is not free. `work` counts the entries.
   */
  firstInUse(start: number, work: WorkLimit): number | undefined {
    for (const { first, end } of this.#segments)
      for (let number = Math.max(first, start); number < end; number += 1) {
        work.parsed(0);
        if (this.entry(number).kind !== 'FREE') return number;
      }
    return undefined;
  }
}

function entryIn({ subsection }: Segment, number: number): CrossReferenceEntry {
  return subsection.entry(number - subsection.first);
}

function found(segments: readonly Segment[], number: number): Segment | undefined {
  let low = 0;
  let high = segments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const segment = segments[middle];
    if (segment === undefined) break;
    if (number < segment.first) high = middle;
    else if (number >= segment.end) low = middle + 1;
    else return segment;
  }
  return undefined;
}

function segmentsOf({ subsections, hidden, offset }: CrossReferenceSection): readonly Segment[] {
  const hiddenOnes = inOrder(hidden, [], offset);
  return overlaid(inOrder(subsections, hiddenOnes, offset), hiddenOnes);
}

function inOrder(subsections: readonly Subsection[], hidden: readonly Segment[], offset: number): readonly Segment[] {
  const segments = subsections
    .filter(({ count }) => count > 0)
    .map((subsection): Segment => ({ first: subsection.first, end: subsection.first + subsection.count, subsection, hidden }))
    .toSorted((one, other) => one.first - other.first);
  for (const [index, { first }] of segments.entries()) {
    // Some readers take the first entry, others the last one: the file would have two meanings.
    if (first < (segments[index - 1]?.end ?? 0)) throw new PdfFault(`a cross-reference section has object ${first} twice`, offset);
  }
  return segments;
}

/**
 * Merges lists of which the first ones count more: halves, so that many sections take little more
 * time than few.
 */
function merged(lists: readonly (readonly Segment[])[]): readonly Segment[] {
  const [only = []] = lists;
  if (lists.length < 2) return only;
  const middle = lists.length >> 1;
  return overlaid(merged(lists.slice(0, middle)), merged(lists.slice(middle)));
}

/**
 * Puts segments over older ones, of which only the parts between them remain. Both are in order.
 */
function overlaid(newer: readonly Segment[], older: readonly Segment[]): readonly Segment[] {
  if (older.length === 0) return newer;
  const segments: Segment[] = [];
  let at = 0;
  for (const segment of older) {
    let { first } = segment;
    for (let over = newer[at]; over !== undefined && over.first < segment.end; over = newer[at]) {
      if (over.first > first) segments.push({ ...segment, first, end: over.first });
      first = Math.max(first, over.end);
      if (over.end > segment.end) break;
      segments.push(over);
      at += 1;
    }
    if (first < segment.end) segments.push({ ...segment, first });
  }
  return [...segments, ...newer.slice(at)];
}
