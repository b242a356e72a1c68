import { isArray, isInteger, isName, PdfDictionary, PdfName, PdfReference, type PdfObject } from './objects.ts';
import type { Page } from './pages.ts';
import type { PdfFile } from './pdf-file.ts';
import { PdfFault } from './pdf-fault.ts';
import type { Revision } from './revision.ts';
import { textString } from './text-string.ts';

/** Returns true for a tagged file (ISO 32000-2, 14.8). */
export function isTagged(file: PdfFile): boolean {
  const mark = file.get(file.catalog, 'MarkInfo');
  return mark instanceof PdfDictionary && file.get(mark, 'Marked') === true && rootOf(file) !== undefined;
}

function rootOf(file: PdfFile): PdfDictionary | undefined {
  const root = file.get(file.catalog, 'StructTreeRoot');
  return root instanceof PdfDictionary ? root : undefined;
}

/**
 * Adds a widget to the structure of a tagged file, as an element of type Form at its end (ISO
 * 14289-1, 7.18.4). Returns the StructParent that the widget is to have.
 */
export function addToStructure(revision: Revision, page: Page, widget: PdfReference, alternativeText: string): number {
  const { file } = revision;
  const root = rootOf(file);
  const place = file.catalog.get('StructTreeRoot');
  if (root === undefined) throw new PdfFault('the file has no structure tree');
  if (!(place instanceof PdfReference)) throw new PdfFault('the structure tree is no object of its own');
  const parent = parentOf(revision, root, place);
  const element = revision.add(
    PdfDictionary.of({
      ...{ Type: new PdfName('StructElem'), S: new PdfName('Form'), P: parent.reference, Alt: textString(alternativeText) },
      ...{ Pg: page.reference, K: PdfDictionary.of({ Type: new PdfName('OBJR'), Obj: widget, Pg: page.reference }) },
    }),
  );
  const { tree, key } = withParent(revision, root, element);
  const changedRoot = root.with({ ParentTree: tree, ParentTreeNextKey: key + 1 });
  if (parent.isRoot) revision.set(place, changedRoot.with({ K: withKid(revision, root, element) }));
  else {
    revision.set(place, changedRoot);
    revision.set(parent.reference, parent.dictionary.with({ K: withKid(revision, parent.dictionary, element) }));
  }
  return key;
}

interface Parent {
  readonly reference: PdfReference;
  readonly dictionary: PdfDictionary;
  readonly isRoot: boolean;
}

/** The element Document, where it is the only one, else the root. */
function parentOf(revision: Revision, root: PdfDictionary, place: PdfReference): Parent {
  const kids = revision.get(root, 'K');
  const only = isArray(kids) ? (kids.length === 1 ? (kids[0] ?? null) : null) : root.get('K');
  const dictionary = revision.resolved(only);
  if (only instanceof PdfReference && dictionary instanceof PdfDictionary && isName(revision.get(dictionary, 'S'), 'Document'))
    return { reference: only, dictionary, isRoot: false };
  return { reference: place, dictionary: root, isRoot: true };
}

function withKid(revision: Revision, dictionary: PdfDictionary, element: PdfReference): PdfObject {
  const kids = dictionary.get('K');
  const list = revision.resolved(kids);
  if (list === null) return element;
  return isArray(list) ? [...list, element] : [kids, element];
}

/** Adds an element to the tree of numbers that leads from widgets to elements (7.9.7). */
function withParent(revision: Revision, root: PdfDictionary, element: PdfReference): { readonly tree: PdfObject; readonly key: number } {
  const found = revision.get(root, 'ParentTree');
  const place = root.get('ParentTree');
  const tree = found instanceof PdfDictionary ? found : new PdfDictionary();
  const next = revision.get(root, 'ParentTreeNextKey');
  const key = Math.max(isInteger(next) ? next : 0, largestKey(revision, tree, 0) + 1);
  const kids = revision.get(tree, 'Kids');
  let changed: PdfDictionary;
  if (isArray(kids)) {
    const leaf = revision.add(PdfDictionary.of({ Limits: [key, key], Nums: [key, element] }));
    changed = tree.with({ Kids: [...kids, leaf] });
  } else {
    const numbers = revision.get(tree, 'Nums');
    changed = tree.with({ Nums: [...(isArray(numbers) ? numbers : []), key, element] });
  }
  if (place instanceof PdfReference && found instanceof PdfDictionary) {
    revision.set(place, changed);
    return { tree: place, key };
  }
  return { tree: changed, key };
}

const depthMax = 30;

/** The keys are in order, so that the last leaf has the largest one. */
function largestKey(revision: Revision, node: PdfDictionary, depth: number): number {
  if (depth > depthMax) throw new PdfFault('the tree of the structure’s parents is too deep');
  const kids = revision.get(node, 'Kids');
  const last = isArray(kids) ? revision.resolved(kids.at(-1) ?? null) : null;
  if (last instanceof PdfDictionary) return largestKey(revision, last, depth + 1);
  const numbers = revision.get(node, 'Nums');
  const key = isArray(numbers) ? revision.resolved(numbers.at(-2) ?? null) : null;
  return isInteger(key) ? key : -1;
}
