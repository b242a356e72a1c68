import { isArray, isInteger, isName, PdfDictionary, PdfReference, type PdfArray, type PdfObject } from './objects.ts';
import type { PdfFile } from './pdf-file.ts';
import { PdfFault } from './pdf-fault.ts';

/**
 * A rectangle in the coordinates of a page, normalised: left ≤ right and bottom ≤ top. In units of
 * 1/72 inch.
 */
export interface Rectangle {
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
  readonly top: number;
}

/** A page. */
export interface Page {
  readonly reference: PdfReference;
  readonly dictionary: PdfDictionary;
  /** What is shown of it: the crop box within the media box. */
  readonly box: Rectangle;
  /** Clockwise rotation of the displayed page in degrees: 0, 90, 180 or 270. */
  readonly rotation: 0 | 90 | 180 | 270;
  /** Size of its unit in 1/72 inch (UserUnit). */
  readonly userUnit: number;
  /** Inherited, if it has none of its own. */
  readonly resources: PdfDictionary;
}

/** Nodes in each other. */
const depthMax = 100;
const nodesMax = 2_000_000;
const usualBox: Rectangle = { left: 0, bottom: 0, right: 612, top: 792 };

/** Attributes that nodes pass on (ISO 32000-2, 7.7.3.4). */
const inheritable = ['Resources', 'MediaBox', 'CropBox', 'Rotate'] as const;
type Inherited = Readonly<Partial<Record<(typeof inheritable)[number], PdfObject>>>;

/**
 * Yields the pages of a file, from the first or from the last one on. Only what is yielded is read.
 * @throws {PdfFault} for a tree that is not sound
 */
export function* pages(file: PdfFile, order: 'FORWARD' | 'BACKWARD' = 'FORWARD'): Generator<Page, void> {
  const root = file.catalog.get('Pages');
  if (!(root instanceof PdfReference)) throw new PdfFault('the catalog names no page tree');
  const walk = new PageWalk(file, order === 'BACKWARD');
  yield* walk.node(root, {}, 0);
}

class PageWalk {
  readonly #file: PdfFile;
  readonly #isBackward: boolean;
  readonly #seen = new Set<number>();

  constructor(file: PdfFile, isBackward: boolean) {
    this.#file = file;
    this.#isBackward = isBackward;
  }

  *node(reference: PdfReference, above: Inherited, depth: number): Generator<Page, void> {
    const { number } = reference;
    if (this.#seen.has(number)) throw new PdfFault(`the page tree has object ${number} twice`);
    if (depth > depthMax) throw new PdfFault(`the page tree has more than ${depthMax} levels`);
    if (this.#seen.size === nodesMax) throw new PdfFault(`the page tree has more than ${nodesMax} nodes`);
    this.#seen.add(number);
    const dictionary = this.#file.dictionary(reference, `node ${number} of the page tree`);
    const inherited: Record<string, PdfObject> = { ...above };
    for (const key of inheritable) if (dictionary.has(key)) inherited[key] = dictionary.get(key);
    const kids = this.#file.get(dictionary, 'Kids');
    const type = this.#file.get(dictionary, 'Type');
    // Type is required; some producers leave it out, and Kids tells.
    if (isName(type, 'Page') || (kids === null && !isName(type, 'Pages'))) {
      yield this.#page(reference, dictionary, inherited);
      return;
    }
    if (!isArray(kids)) throw new PdfFault(`node ${number} of the page tree has no kids`);
    yield* this.#kids(kids, inherited, depth, number);
  }

  *#kids(kids: PdfArray, inherited: Inherited, depth: number, parent: number): Generator<Page, void> {
    for (let index = 0; index < kids.length; index += 1) {
      const kid = kids[this.#isBackward ? kids.length - 1 - index : index];
      if (!(kid instanceof PdfReference)) throw new PdfFault(`node ${parent} of the page tree has a kid that is no reference`);
      yield* this.node(kid, inherited, depth + 1);
    }
  }

  #page(reference: PdfReference, dictionary: PdfDictionary, inherited: Inherited): Page {
    const file = this.#file;
    const name = `page object ${reference.number}`;
    const media = rectangleOf(file, inherited.MediaBox ?? null) ?? usualBox;
    const crop = rectangleOf(file, inherited.CropBox ?? null) ?? media;
    const shown = intersection(media, crop);
    // Where the crop box is outside of the media box, readers show the latter.
    const box = isEmpty(shown) ? media : shown;
    if (isEmpty(box)) throw new PdfFault(`${name} has no area`);
    const userUnit = file.get(dictionary, 'UserUnit');
    const resources = file.resolved(inherited.Resources ?? null);
    return {
      ...{ reference, dictionary, box },
      rotation: rotationOf(file.resolved(inherited.Rotate ?? null), name),
      userUnit: typeof userUnit === 'number' && userUnit > 0 ? userUnit : 1,
      resources: resources instanceof PdfDictionary ? resources : new PdfDictionary(),
    };
  }
}

function rotationOf(rotate: PdfObject, name: string): Page['rotation'] {
  if (rotate === null) return 0;
  if (!isInteger(rotate) || rotate % 90 !== 0) throw new PdfFault(`${name} has a rotation that is no multiple of 90 degrees`);
  return ([0, 90, 180, 270] as const)[(((rotate / 90) % 4) + 4) % 4] ?? 0;
}

/** Reads a rectangle (7.9.5). Undefined if it is none. */
export function rectangleOf(file: Pick<PdfFile, 'resolved'>, object: PdfObject): Rectangle | undefined {
  const array = file.resolved(object);
  if (!isArray(array) || array.length !== 4) return undefined;
  const numbers = array.map((one) => file.resolved(one)).filter((one) => typeof one === 'number');
  const [x1, y1, x2, y2] = numbers;
  if (x1 === undefined || y1 === undefined || x2 === undefined || y2 === undefined) return undefined;
  return { left: Math.min(x1, x2), bottom: Math.min(y1, y2), right: Math.max(x1, x2), top: Math.max(y1, y2) };
}

function intersection(one: Rectangle, other: Rectangle): Rectangle {
  return {
    left: Math.max(one.left, other.left),
    bottom: Math.max(one.bottom, other.bottom),
    right: Math.min(one.right, other.right),
    top: Math.min(one.top, other.top),
  };
}

function isEmpty({ left, bottom, right, top }: Rectangle): boolean {
  return right <= left || top <= bottom;
}
