import { isArray, PdfDictionary, PdfReference, PdfStream, type PdfObject } from '../../../../../src/pdf/objects.ts';
import type { Revision } from '../../../../../src/pdf/revision.ts';
import { textString } from '../../../../../src/pdf/text-string.ts';
import { stream } from '../revised-pdf.ts';
import { dictionary } from './appearance-places.ts';
import { changeAt, dictionaryAt, listAt, nameOf as name, spot, type Parts, type Spot } from './parts.ts';
import { appendAs, type Append } from './revision-kinds.ts';

/** A change that no signature allows. Returns false if the file has nothing of its kind. */
export type Forbidden = (revision: Revision, parts: Parts) => boolean;

type Entries = Readonly<Record<string, PdfObject | undefined>>;

const other = stream('BT /F1 24 Tf 60 300 Td (PAY 999999) Tj ET');

/** Changes a dictionary that is there. */
function entry(find: (revision: Revision, parts: Parts) => Spot | undefined, entries: Entries): Forbidden {
  return (revision, parts) => {
    const found = find(revision, parts);
    if (found === undefined || dictionaryAt(revision, found).keys().length === 0) return false;
    changeAt(revision, found, entries);
    return true;
  };
}

/** Replaces the first stream that some references lead to. */
function replacing(
  find: (revision: Revision, parts: Parts) => Iterable<PdfObject>,
  entries: Readonly<Record<string, PdfObject>>,
): Forbidden {
  return (revision, parts) => {
    for (const one of find(revision, parts)) {
      if (!(one instanceof PdfReference) || !(revision.resolved(one) instanceof PdfStream)) continue;
      revision.set(one, stream('0 0 300 400 re f BT /F1 24 Tf 60 300 Td (PAY 999999) Tj ET', entries));
      return true;
    }
    return false;
  };
}

/** The first object behind a key of a dictionary, of a list or of what stands in its place. */
function within(
  find: (parts: Parts) => Spot | undefined,
  ...keys: readonly string[]
): (revision: Revision, parts: Parts) => Spot | undefined {
  return (revision, parts) => {
    const start = find(parts);
    if (start === undefined) return undefined;
    let found: Spot = start;
    for (const key of keys) {
      const one = dictionaryAt(revision, found).get(key);
      const list = revision.resolved(one);
      const [first] = isArray(list) ? list : [];
      found = first instanceof PdfReference ? spot(first) : spot(found.holder, ...found.keys, key);
    }
    return found;
  };
}

const catalog = ({ catalog: found }: Parts): Spot => found;
const resourcesOf = (key: string, revision: Revision, { resources }: Parts): readonly PdfObject[] =>
  resources === undefined ? [] : Array.from(dictionaryAt(revision, spot(resources.holder, ...resources.keys, key)).values());

const firstResource = (key: string): ((revision: Revision, parts: Parts) => Spot | undefined) => {
  return (revision, parts) => {
    const [found] = resourcesOf(key, revision, parts);
    return found instanceof PdfReference ? spot(found) : undefined;
  };
};

function linkOf(revision: Revision, { page }: Parts): Spot | undefined {
  const found = listAt(revision, page, 'Annots').find(
    (one) => one instanceof PdfReference && revision.resolved(one) instanceof PdfDictionary && dictionaryAt(revision, spot(one)).has('A'),
  );
  return found instanceof PdfReference ? spot(found) : undefined;
}

/** Changes of all kinds of objects that no signature allows. */
export const forbidden: Readonly<Record<string, Forbidden>> = {
  'contents of a page': replacing((revision, { page }) => {
    const contents = dictionaryAt(revision, page).get('Contents');
    return [contents, ...listAt(revision, page, 'Contents')];
  }, {}),
  'a page': (revision, { page }) => {
    changeAt(revision, page, { Contents: revision.add(other) });
    return true;
  },
  'a page whose contents are a list': (revision, { lastPage }) => {
    changeAt(revision, lastPage, { Contents: [revision.add(other)] });
    return true;
  },
  'the page tree': entry((_, { pageTree }) => pageTree, { CropBox: [0, 0, 9, 9] }),
  'a page more': (revision, { pageTree }) => {
    const page = dictionary({ Type: name('Page'), Parent: pageTree.holder, MediaBox: [0, 0, 300, 400], Contents: revision.add(other) });
    const kids = listAt(revision, pageTree, 'Kids');
    changeAt(revision, pageTree, { Kids: [revision.add(page), ...kids], Count: kids.length + 1 });
    return true;
  },
  'the catalog': entry((_, { catalog: found }) => found, {
    OpenAction: dictionary({ S: name('JavaScript'), JS: textString('app.alert(1)') }),
  }),
  layers: entry(within(catalog, 'OCProperties'), { D: dictionary({ OFF: [] }) }),
  'the state of layers': entry(within(catalog, 'OCProperties', 'D'), { OFF: [] }),
  'a layer': entry(within(catalog, 'OCProperties', 'OCGs'), { Name: textString('Final') }),
  'a picture of a page': replacing((revision, parts) => resourcesOf('XObject', revision, parts), {
    Subtype: name('Form'),
    BBox: [0, 0, 600, 800],
  }),
  'a font': entry(firstResource('Font'), { BaseFont: name('Symbol') }),
  resources: entry((_, { resources }) => resources, { XObject: new PdfDictionary(), Font: new PdfDictionary() }),
  'a group': entry(
    within(({ page }) => page, 'Group'),
    { I: true, S: name('Other') },
  ),
  'a link': entry(linkOf, { A: dictionary({ S: name('URI'), URI: textString('https://example.com') }) }),
  names: entry(within(catalog, 'Names'), { JavaScript: new PdfDictionary() }),
  destinations: entry(within(catalog, 'Names', 'Dests'), { Names: [textString('a'), textString('nowhere')] }),
  outlines: entry(within(catalog, 'Outlines', 'First'), { Title: textString('Final') }),
  'an embedded file': replacing(
    (revision, { catalog: { holder } }) =>
      listAt(revision, spot(holder, 'Names', 'EmbeddedFiles'), 'Names').flatMap((one) =>
        one instanceof PdfReference ? [dictionaryAt(revision, spot(one, 'EF')).get('F')] : [],
      ),
    { Type: name('EmbeddedFile') },
  ),
  XFA: replacing((revision, { form }) => (form === undefined ? [] : listAt(revision, form, 'XFA')), {}),
  'the form': entry((_, { form }) => form, { DA: textString('/F1 0 Tf 1 g'), CO: [] }),
  'the place of a field': entry((_, { text }) => text?.widget, { Rect: [0, 0, 600, 800] }),
  'a signature field': entry((_, { place }) => place?.field, { T: textString('Another') }),
  'an element of the structure': entry(
    within(({ element }) => element, 'K'),
    { ActualText: textString('PAY 999999') },
  ),
  'the parents of the structure': entry((_, { parents }) => parents, { Nums: [0, [new PdfReference(1, 0)]], Kids: undefined }),
  'the appearance of a field alone': replacing(
    (revision, { otherText }) => (otherText === undefined ? [] : [dictionaryAt(revision, spot(otherText.widget.holder, 'AP')).get('N')]),
    { Subtype: name('Form'), BBox: [0, 0, 150, 30] },
  ),
};

/** Whether a file has something of the kind that a change is about. */
export function hasPlaceFor(pdf: Buffer, change: Forbidden, parts: Parts): boolean {
  let has = false;
  appendAs('USUAL')(pdf, (revision) => {
    has = change(revision, parts);
    // A revision needs an object.
    if (!has) changeAt(revision, parts.catalog, {});
  });
  return has;
}

/**
 * Returns a signed file with a change that is not allowed. `touched`: the catalog, to which an extra reference can lead, is
 * changed as is allowed.
 */
export function withForbidden(pdf: Buffer, parts: Parts, change: Forbidden, touched: boolean, append: Append = appendAs('USUAL')): Buffer {
  return append(pdf, (revision) => {
    change(revision, parts);
    if (touched) changeAt(revision, parts.catalog, { Version: name('2.0') });
  });
}
