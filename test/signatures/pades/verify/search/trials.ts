import { PdfFault } from '../../../../../src/pdf/pdf-fault.ts';
import { refusalOfRevision } from '../revised-pdf.ts';
import { carriers, type Carrier } from './carriers.ts';
import { forbidden, hasPlaceFor, withForbidden, type Forbidden } from './forbidden-changes.ts';
import { elementsAt, product, sampled } from './sample.ts';
import type { Area } from './shown.ts';
import { appends, withValue, type Subject, type ValueKind } from './subjects.ts';
import type { Parts } from './parts.ts';
import type { RevisionKind } from './revision-kinds.ts';

/** A revision that is tried. */
export interface Trial {
  readonly name: string;
  /** Kind of the revision, and place. */
  readonly place: string;
  readonly subject: Subject;
  /** Where it may show something. */
  readonly area: Area;
  /** How many fields may have another value. */
  readonly valuesMax: number;
  readonly pdf: Buffer;
}

/** What of a search was tried. */
export class Coverage {
  tried = 0;
  readonly #places = new Set<string>();
  readonly #objects = new Set<string>();
  readonly #of: number;

  /** `of`: how many there are. */
  constructor(of: number) {
    this.#of = of;
  }

  add({ name }: Subject, place: string, number: number | undefined): void {
    this.tried += 1;
    this.#places.add(`${name} ${place}`);
    this.#objects.add(`${name} ${number}`);
  }

  toString(): string {
    return `tried ${this.tried} of ${this.#of}, with ${this.#places.size} pairs of file and place and ${this.#objects.size} of file and object`;
  }
}

const values: readonly ValueKind[] = ['REFERENCE', 'COPY', 'DIRECT'];
export const kinds: readonly RevisionKind[] = ['USUAL', 'TABLE', 'PACKED'];

/** Places of a file; those of comments where comments are allowed. */
function placesOf({ parts, level }: Subject): readonly Carrier[] {
  return carriers.filter(({ isThere, shows }) => isThere(parts) && (shows !== 'COMMENTS' || level === 3));
}

/** Changes that are not allowed, of which a file has something. */
function changesOf({ pdf, parts }: Subject): readonly (readonly [string, Forbidden])[] {
  return Object.entries(forbidden).filter(([, change]) => hasPlaceFor(pdf, change, parts));
}

function lists(
  subject: Subject,
): readonly [readonly Carrier[], readonly (number | undefined)[], readonly ValueKind[], readonly RevisionKind[]] {
  return [placesOf(subject), [undefined, ...subject.objects], values, kinds];
}

function areaOf({ shows }: Carrier, { text, button, place }: Parts): Area {
  if (shows === 'NOTHING' || shows === 'COMMENTS') return shows;
  return { TEXT: text, BUTTON: button, PLACE: place }[shows]?.rectangle ?? 'NOTHING';
}

/**
 * Yields revisions that are allowed, but for an object of the file as an additional value at some
 * place, and this service accepts. `count`: for each file.
 */
export async function* acceptedValues(
  subjects: readonly Subject[],
  count: number,
  note: (text: string) => void,
): AsyncGenerator<Trial, void> {
  const coverage = new Coverage(subjects.reduce((sum, one) => sum + product(lists(one)), 0));
  for (const subject of subjects) {
    const all = lists(subject);
    for (const at of sampled(product(all), count)) {
      const [carrier, number, value, kind] = elementsAt(at, ...all);
      coverage.add(subject, carrier.name, number);
      const pdf = await madeWith(subject, subject.pdf, { carrier, number, value, kind });
      if (pdf === undefined || refusalOfRevision(pdf) !== undefined) continue;
      const name = `${carrier.name}, ${described(number, value)}, ${kind}, ${subject.name}`;
      const valuesMax = carrier.shows === 'TEXT' || carrier.shows === 'BUTTON' ? 1 : 0;
      yield { name, place: carrier.name, subject, area: areaOf(carrier, subject.parts), valuesMax, pdf };
    }
  }
  note(`places × objects × values × revisions: ${coverage.toString()}`);
}

/**
 * Returns the same beside changes that are not allowed: those that are accepted all the same.
 * `isPlain`: only references, in revisions of the usual kind.
 */
export async function acceptedChanges(
  subjects: readonly Subject[],
  { count, isPlain = false }: { readonly count: number; readonly isPlain?: boolean },
  note: (text: string) => void,
): Promise<readonly string[]> {
  const accepted: string[] = [];
  const sets = subjects.map((subject) => {
    const [places, objects, allValues, allKinds] = lists(subject);
    const [someValues, someKinds] = isPlain ? [values.slice(0, 1), kinds.slice(0, 1)] : [allValues, allKinds];
    return [places, objects, someValues, someKinds, [false, true], changesOf(subject)] as const;
  });
  const coverage = new Coverage(sets.reduce((sum, one) => sum + product(one), 0));
  for (const [index, subject] of subjects.entries()) {
    const all = sets[index];
    if (all === undefined) continue;
    for (const at of sampled(product(all), count)) {
      const [carrier, number, value, kind, touched, [change, apply]] = elementsAt(at, ...all);
      coverage.add(subject, carrier.name, number);
      const changed = withForbidden(subject.pdf, subject.parts, apply, touched, appends[kind]);
      const pdf = await madeWith(subject, changed, { carrier, number, value, kind });
      if (pdf !== undefined && refusalOfRevision(pdf) === undefined)
        accepted.push(`${carrier.name}, ${described(number, value)}, ${kind}, ${change}, ${subject.name}`);
    }
  }
  note(`places × objects × values × revisions × changes: ${coverage.toString()}, accepted: ${accepted.length}`);
  return accepted;
}

function described(number: number | undefined, value: ValueKind): string {
  return number === undefined ? 'nothing' : `${value.toLowerCase()} of object ${number}`;
}

interface Choice {
  readonly carrier: Carrier;
  /** Undefined: none. */
  readonly number: number | undefined;
  readonly value: ValueKind;
  readonly kind: RevisionKind;
}

/** Undefined where this cannot be written, such as an object that is gone. */
async function madeWith({ parts }: Subject, pdf: Buffer, { carrier, number, value, kind }: Choice): Promise<Buffer | undefined> {
  try {
    if (number === undefined) return await carrier.make(pdf, parts, undefined, appends[kind]);
    const [base, extra] = withValue(pdf, number, value, appends[kind]);
    return extra === null ? undefined : await carrier.make(base, parts, extra, appends[kind]);
  } catch (error) {
    if (error instanceof PdfFault) return undefined;
    throw error;
  }
}
