import { bytesInMemory } from '../../../../../src/asn1/byte-source.ts';
import { formFields, type FormField } from '../../../../../src/pdf/form-fields.ts';
import { isArray, isName, PdfDictionary, PdfName, PdfReference, type PdfObject } from '../../../../../src/pdf/objects.ts';
import { pages, rectangleOf, type Page, type Rectangle } from '../../../../../src/pdf/pages.ts';
import { PdfFile } from '../../../../../src/pdf/pdf-file.ts';
import type { Revision } from '../../../../../src/pdf/revision.ts';

/** A dictionary of a file: an object, or what these keys lead to from one. It need not be there. */
export interface Spot {
  readonly holder: PdfReference;
  readonly keys: readonly string[];
}

/** A field with one of its widgets, which can be the same object. */
export interface FieldParts {
  readonly field: Spot;
  readonly widget: Spot;
  /** Of the widget. */
  readonly rectangle: Rectangle | undefined;
}

/** Where a file has what revisions change. Absent: the file has none. */
export interface Parts {
  readonly catalog: Spot;
  readonly info: Spot | undefined;
  readonly store: Spot;
  readonly form: Spot | undefined;
  readonly pageTree: Spot;
  readonly page: Spot;
  readonly lastPage: Spot;
  readonly isRotated: boolean;
  /** Of the first page, which can inherit them. */
  readonly resources: Spot | undefined;
  readonly text: FieldParts | undefined;
  readonly otherText: FieldParts | undefined;
  readonly button: FieldParts | undefined;
  /** A signature field without a signature. */
  readonly place: FieldParts | undefined;
  readonly comment: Spot | undefined;
  readonly structure: Spot | undefined;
  readonly element: Spot | undefined;
  readonly parents: Spot | undefined;
}

/** Returns a part of a file that is known to have it. */
export function needed<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('the file has no such part');
  return part;
}

export function spot(holder: PdfReference, ...keys: readonly string[]): Spot {
  return { holder, keys };
}

const readOnlyOrPushed = 1 | (1 << 16);

/** Finds the parts of a file. */
export function partsOf(pdf: Uint8Array): Parts {
  const file = new PdfFile(bytesInMemory(pdf));
  const catalog = file.catalogReference;
  const all = Array.from(pages(file));
  const [page] = all;
  const last = all.at(-1);
  if (page === undefined || last === undefined) throw new Error('no page');
  const fields = Array.from(formFields(file)).filter(({ flags }) => (flags & readOnlyOrPushed) === 0);
  const tree = file.catalog.get('Pages');
  if (!(tree instanceof PdfReference)) throw new Error('no page tree');
  const info = file.trailer.get('Info');
  const structure = referenceIn(file.catalog, 'StructTreeRoot');
  const root = structure === undefined ? undefined : file.resolved(structure);
  const kids = root instanceof PdfDictionary ? root.get('K') : null;
  const [element] = [file.resolved(kids)].flatMap((list) => (isArray(list) ? list : [kids]));
  const comment = annotationsOf(file, page.dictionary).find((one) => {
    const annotation = file.resolved(one);
    return annotation instanceof PdfDictionary && isName(file.get(annotation, 'Subtype'), 'FreeText');
  });
  const fieldOf = (found: FormField | undefined): FieldParts | undefined => (found === undefined ? undefined : fieldParts(file, found));
  const [text, otherText] = fields.filter(({ type }) => type === 'Tx');
  const button = fields.find(({ type, widgets }) => type === 'Btn' && widgets[0]?.dictionary.has('AP') === true);
  return {
    catalog: spot(catalog),
    info: info instanceof PdfReference ? spot(info) : undefined,
    store: spot(catalog, 'DSS'),
    form: file.catalog.has('AcroForm') ? spot(catalog, 'AcroForm') : undefined,
    pageTree: spot(tree),
    page: spot(page.reference),
    lastPage: spot(last.reference),
    isRotated: all.some(({ rotation, userUnit }) => rotation !== 0 || userUnit !== 1),
    resources: resourcesOf(file, page),
    text: fieldOf(text),
    otherText: fieldOf(otherText),
    button: fieldOf(button),
    place: fieldOf(fields.find(({ type, value }) => type === 'Sig' && value === null)),
    comment: comment instanceof PdfReference ? spot(comment) : undefined,
    structure: structure === undefined ? undefined : spot(catalog, 'StructTreeRoot'),
    element: element instanceof PdfReference ? spot(element) : undefined,
    parents: root instanceof PdfDictionary && root.has('ParentTree') ? spot(catalog, 'StructTreeRoot', 'ParentTree') : undefined,
  };
}

function fieldParts(file: PdfFile, { reference, widgets }: FormField): FieldParts | undefined {
  const [widget] = widgets;
  if (widget === undefined) return undefined;
  return { field: spot(reference), widget: spot(widget.reference), rectangle: rectangleOf(file, widget.dictionary.get('Rect')) };
}

/** Resources of a page, or of the node of the page tree that hands them down to it. */
function resourcesOf(file: PdfFile, page: Page): Spot | undefined {
  let node: PdfObject = page.reference;
  while (node instanceof PdfReference) {
    const dictionary: PdfObject = file.resolved(node);
    if (!(dictionary instanceof PdfDictionary)) return undefined;
    if (dictionary.has('Resources')) return spot(node, 'Resources');
    node = dictionary.get('Parent');
  }
  return undefined;
}

function referenceIn(dictionary: PdfDictionary, key: string): PdfReference | undefined {
  const value = dictionary.get(key);
  return value instanceof PdfReference ? value : undefined;
}

function annotationsOf(file: PdfFile, page: PdfDictionary): readonly PdfObject[] {
  const list = file.get(page, 'Annots');
  return isArray(list) ? list : [];
}

/** Returns the dictionary at a spot in a revision; an empty one if there is none. */
export function dictionaryAt(revision: Revision, { holder, keys }: Spot): PdfDictionary {
  let found = revision.resolved(holder);
  for (const key of keys) found = found instanceof PdfDictionary ? revision.get(found, key) : null;
  return found instanceof PdfDictionary ? found : new PdfDictionary();
}

/** Returns the reference at a spot; undefined if the dictionary stands in another object. */
export function referenceAt(revision: Revision, { holder, keys }: Spot): PdfReference | undefined {
  const last = keys.at(-1);
  if (last === undefined) return holder;
  return referenceIn(dictionaryAt(revision, spot(holder, ...keys.slice(0, -1))), last);
}

/** Returns the array behind a key of the dictionary at a spot; an empty one if there is none. */
export function listAt(revision: Revision, at: Spot, key: string): readonly PdfObject[] {
  const list = revision.get(dictionaryAt(revision, at), key);
  return isArray(list) ? list : [];
}

/** Changes entries of the dictionary at a spot, in the object in which it stands. */
export function changeAt(revision: Revision, at: Spot, entries: Readonly<Record<string, PdfObject | undefined>>): void {
  const reference = referenceAt(revision, at);
  if (reference !== undefined) {
    revision.set(reference, dictionaryAt(revision, at).with(entries));
    return;
  }
  const above = spot(at.holder, ...at.keys.slice(0, -1));
  changeAt(revision, above, { [at.keys.at(-1) ?? '']: dictionaryAt(revision, at).with(entries) });
}

/** Returns the name of the state of a button that is on. */
export function stateOf(revision: Revision, { widget }: FieldParts): string {
  const normal = dictionaryAt(revision, spot(widget.holder, ...widget.keys, 'AP', 'N'));
  return normal.keys().find((key) => key !== 'Off') ?? 'On';
}

export function nameOf(text: string): PdfName {
  return new PdfName(text);
}
