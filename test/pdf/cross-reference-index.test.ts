import { array, assert, constantFrom, integer, property, record, type Arbitrary } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CrossReferenceIndex } from '../../src/pdf/cross-reference-index.ts';
import type { CrossReferenceEntry, CrossReferenceSection, Subsection } from '../../src/pdf/cross-reference-section.ts';
import { PdfDictionary } from '../../src/pdf/objects.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { WorkLimit } from '../../src/pdf/work-limit.ts';

type Kind = CrossReferenceEntry['kind'];
interface Range {
  readonly first: number;
  readonly kinds: readonly Kind[];
}

let made = 0;
/** An entry that no other one equals. */
function entryOf(kind: Kind): CrossReferenceEntry {
  made += 1;
  if (kind === 'FREE') return { kind, next: made, generation: 0 };
  return kind === 'FILE' ? { kind, offset: made, generation: 0 } : { kind, stream: made, index: 0 };
}

function subsection({ first, kinds }: Range): Subsection {
  const entries = kinds.map(entryOf);
  return {
    first,
    count: entries.length,
    entry(index) {
      const entry = entries[index];
      if (entry === undefined) throw new Error(`there is no entry ${index}`);
      return entry;
    },
  };
}

function section(ranges: readonly Range[], hidden: readonly Range[] = []): CrossReferenceSection {
  return {
    ...{ kind: 'TABLE', offset: 7, trailer: new PdfDictionary() },
    subsections: ranges.map(subsection),
    hidden: hidden.map(subsection),
  };
}

const free: CrossReferenceEntry = { kind: 'FREE', next: 0, generation: 65_535 };

/** The entry of an object, by looking at all sections from the newest on. */
function expectedEntry(sections: readonly CrossReferenceSection[], number: number): CrossReferenceEntry {
  const entryIn = (subsections: readonly Subsection[]): CrossReferenceEntry | undefined => {
    const found = subsections.find(({ first, count }) => first <= number && number < first + count);
    return found?.entry(number - found.first);
  };
  for (const { subsections, hidden } of sections) {
    const [shown, other] = [entryIn(subsections), entryIn(hidden)];
    const entry = shown === undefined || shown.kind === 'FREE' ? (other ?? shown) : shown;
    if (entry !== undefined) return entry;
  }
  return free;
}

/** Ranges that do not overlap, in any order, some of them empty. */
const ranges: Arbitrary<readonly Range[]> = array(
  record({
    gap: integer({ min: 0, max: 3 }),
    kinds: array(constantFrom<Kind>('FREE', 'FILE', 'STREAM'), { maxLength: 4 }),
    turn: integer(),
  }),
  { maxLength: 4 },
).map((parts) => {
  let next = 0;
  const placed = parts.map(({ gap, kinds, turn }) => {
    const first = next + gap;
    next = first + kinds.length;
    return { first, kinds, turn };
  });
  return placed.toSorted((one, other) => one.turn - other.turn);
});
const sectionsOf = array(record({ shown: ranges, hidden: ranges }), { maxLength: 7 });

const unlimited = (): WorkLimit => new WorkLimit({ mustBeQuick: false });

describe('the index of a cross-reference', () => {
  it('leads to the newest entry of each object', () => {
    assert(
      property(sectionsOf, integer({ min: 0, max: 30 }), (parts, start) => {
        const sections = parts.map(({ shown, hidden }) => section(shown, hidden));
        const index = new CrossReferenceIndex(sections);
        const numbers = Array.from({ length: 40 }, (_, number) => number);
        expect(numbers.map((number) => index.entry(number))).toEqual(numbers.map((number) => expectedEntry(sections, number)));
        const inUse = numbers.filter((number) => expectedEntry(sections, number).kind !== 'FREE');
        expect(Array.from(index.inUse(unlimited()))).toEqual(inUse.map((number) => [number, expectedEntry(sections, number)]));
        expect(index.firstInUse(start, unlimited())).toBe(inUse.find((number) => number >= start));
        const ends = sections.flatMap(({ subsections, hidden }) => [...subsections, ...hidden]).filter(({ count }) => count > 0);
        expect(index.end).toBe(Math.max(0, ...ends.map(({ first, count }) => first + count)));
      }),
      { numRuns: 300 },
    );
  });

  const file = (first: number, count: number): Range => ({ first, kinds: Array<Kind>(count).fill('FILE') });
  it.each([
    ['overlap by one', [file(3, 4), file(6, 2)], false],
    ['overlap in another order', [file(6, 2), file(3, 4)], false],
    ['are the same', [file(3, 1), file(3, 1)], false],
    ['are in each other', [file(3, 9), file(5, 1)], false],
    ['touch', [file(3, 4), file(7, 2)], true],
    ['begin at 0', [file(0, 1), file(1, 1)], true],
    ['are empty', [file(3, 4), file(5, 0)], true],
  ])('is refused where subsections have an object twice: they %s', (_, found, isSound) => {
    for (const sections of [[section(found)], [section([], found)], [section([file(0, 50)]), section(found)]]) {
      const make = (): unknown => new CrossReferenceIndex(sections);
      if (isSound) expect(make).not.toThrow();
      else expect(make).toThrow(PdfFault);
    }
    // What the table has, the stream of a hybrid may have as well.
    expect(() => new CrossReferenceIndex([section(found.slice(0, 1), found.slice(1))])).not.toThrow();
  });

  it('counts the entries that are looked at', () => {
    const index = new CrossReferenceIndex([section([{ first: 0, kinds: Array<Kind>(40_000).fill('FREE') }])]);
    const looks: readonly ((work: WorkLimit) => unknown)[] = [(work) => Array.from(index.inUse(work)), (work) => index.firstInUse(0, work)];
    for (const look of looks) {
      const work = unlimited();
      look(work);
      expect(work.isQuick).toBe(false);
    }
  });
});
