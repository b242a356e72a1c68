import { bytesInMemory } from '../../../../../src/asn1/byte-source.ts';
import { isArray, PdfDictionary, PdfReference, PdfStream, type PdfObject } from '../../../../../src/pdf/objects.ts';
import { rectangleOf, type Rectangle } from '../../../../../src/pdf/pages.ts';
import { PdfFault } from '../../../../../src/pdf/pdf-fault.ts';
import { PdfFile } from '../../../../../src/pdf/pdf-file.ts';
import { textString } from '../../../../../src/pdf/text-string.ts';
import { sameObjects } from '../../../../../src/signatures/pades/verify/same-objects.ts';
import { refusalOfRevision, stream } from '../revised-pdf.ts';
import { nameOf } from './parts.ts';
import { elementsAt, product, sampled } from './sample.ts';
import type { Area } from './shown.ts';
import { appends, type Subject } from './subjects.ts';
import { Coverage, kinds, type Trial } from './trials.ts';

/** Entries that are tried in dictionaries that do not have them. */
const added = [
  ...['Type', 'Subtype', 'Contents', 'Resources', 'Annots', 'Kids', 'Parent', 'AP', 'AS', 'V', 'Rect', 'F', 'A', 'AA', 'OC', 'Tabs'],
  ...['Fields', 'DR', 'DA', 'NeedAppearances', 'P', 'DSS', 'Metadata', 'MediaBox', 'Rotate', 'Filter', 'Length', 'Nums', 'ActualText'],
];
/** Numbers of entries, of which each dictionary has some: more than most have with those that are added. */
const slots = Array.from({ length: 41 }, (_, index) => index);

type Replacement = (object: PdfObject, other: PdfReference) => PdfObject;

const replacements: readonly (readonly [string, Replacement])[] = [
  ['nothing', () => null],
  ['a reference', (_, other) => other],
  ['a list of a reference', (_, other) => [other]],
  ['a text', () => textString('PAY 999999')],
  ['a name', () => nameOf('Other')],
  ['a number', (object) => (typeof object === 'number' ? object + 1 : 1)],
  ['a dictionary', () => new PdfDictionary()],
  ['one less', (object) => (isArray(object) ? object.slice(1) : null)],
  ['one more', (object, other) => (isArray(object) ? [...object, other] : null)],
  ['in another order', (object) => (isArray(object) ? object.toReversed() : null)],
];

/** Yields revisions that change one entry of one object, anywhere in a file, and that are accepted. `count`: for each file. */
export function* acceptedEntries(subjects: readonly Subject[], count: number, note: (text: string) => void): Generator<Trial, void> {
  const sets = subjects.map(({ objects }) => [objects, slots, replacements, kinds] as const);
  const coverage = new Coverage(sets.reduce((sum, one) => sum + product(one), 0));
  for (const [index, subject] of subjects.entries()) {
    const all = sets[index];
    if (all === undefined) continue;
    const file = new PdfFile(bytesInMemory(subject.pdf));
    for (const at of sampled(product(all), count)) {
      const [number, slot, [what, replace], kind] = elementsAt(at, ...all);
      const other = new PdfReference(subject.objects[(at + number) % subject.objects.length] ?? 1, 0);
      const changed = changedAt(file, number, slot, (object) => replace(object, other));
      if (changed === undefined) continue;
      coverage.add(subject, changed.key, number);
      const pdf = appends[kind](subject.pdf, (revision) => revision.set(changed.reference, changed.object));
      if (refusalOfRevision(pdf) !== undefined) continue;
      const place = `${changed.key} of ${typeOf(file, changed.object)}`;
      const area = subject.level === 3 ? 'COMMENTS' : areaOf(file, changed.reference);
      yield {
        name: `${place}, ${what}, object ${number}, ${kind}, ${subject.name}`,
        place: `entry: ${place}`,
        subject,
        area,
        valuesMax: 1,
        pdf,
      };
    }
  }
  note(`objects × entries × values × revisions: ${coverage.toString()}`);
}

interface Changed {
  readonly reference: PdfReference;
  readonly key: string;
  readonly object: PdfObject;
}

/** Undefined for an object that has no such entry, or cannot be written again. */
function changedAt(file: PdfFile, number: number, slot: number, replace: (object: PdfObject) => PdfObject): Changed | undefined {
  const entry = file.crossReference.entry(number);
  const reference = new PdfReference(number, entry.kind === 'FILE' ? entry.generation : 0);
  const object = file.object(reference);
  if (isArray(object) || !(object instanceof PdfDictionary || object instanceof PdfStream))
    return slot > 0 ? undefined : { reference, key: 'object', object: replace(object) };
  const dictionary = object instanceof PdfStream ? object.dictionary : object;
  const keys = [...dictionary.keys(), ...added.filter((key) => !dictionary.has(key))];
  const key = keys[slot];
  if (key === undefined) return undefined;
  const [was, is] = [dictionary.get(key), replace(dictionary.get(key))];
  if (sameObjects(was, is)) return undefined;
  const changed = dictionary.with({ [key]: is });
  if (!(object instanceof PdfStream)) return { reference, key, object: changed };
  try {
    // Its length is written anew, so other bytes are tried.
    const bytes = key === 'Length' ? stream('q Q').encoded : file.encodedBytes(object, 16 * 1024 * 1024);
    return { reference, key, object: new PdfStream(changed, bytes) };
  } catch (error) {
    if (error instanceof PdfFault) return undefined;
    throw error;
  }
}

function typeOf(file: PdfFile, object: PdfObject): string {
  const dictionary = object instanceof PdfStream ? object.dictionary : object;
  if (!(dictionary instanceof PdfDictionary)) return 'a value';
  const names = ['Type', 'Subtype', 'FT'].map((key) => file.get(dictionary, key));
  const found = names.flatMap((one) => (one !== null && typeof one === 'object' && 'text' in one ? [one.text] : []));
  return found.length > 0 ? found.join(' ') : 'a dictionary';
}

/** Where the widgets of a field are, or an annotation is. */
function areaOf(file: PdfFile, reference: PdfReference): Area {
  const dictionary = file.resolved(reference);
  if (!(dictionary instanceof PdfDictionary)) return 'NOTHING';
  const kids = file.get(dictionary, 'Kids');
  const all = [dictionary, ...(isArray(kids) ? kids.map((kid) => file.resolved(kid)) : [])];
  const rectangles = all.flatMap((one) => (one instanceof PdfDictionary ? (rectangleOf(file, one.get('Rect')) ?? []) : []));
  const [first] = rectangles;
  if (first === undefined) return 'NOTHING';
  const extreme = (key: keyof Rectangle, choose: (...values: number[]) => number): number => choose(...rectangles.map((one) => one[key]));
  return {
    ...{ left: extreme('left', Math.min), right: extreme('right', Math.max) },
    ...{ bottom: extreme('bottom', Math.min), top: extreme('top', Math.max) },
  };
}
