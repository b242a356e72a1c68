import { PdfReference, type PdfObject } from '../../../../../src/pdf/objects.ts';
import type { Revision } from '../../../../../src/pdf/revision.ts';
import { textString } from '../../../../../src/pdf/text-string.ts';
import { stream } from '../revised-pdf.ts';
import { appearances, dictionary, having, listed, type Place } from './appearance-places.ts';
import { changeAt, dictionaryAt, listAt, nameOf as name, needed, referenceAt, spot, stateOf, type Parts, type Spot } from './parts.ts';
import { appendAs, type Append } from './revision-kinds.ts';
import { signings } from './signature-places.ts';
import { storeOf, storePlaces } from './store-places.ts';

/** What a revision may show that was not shown before. */
export type Shows = 'NOTHING' | 'TEXT' | 'BUTTON' | 'PLACE' | 'COMMENTS';

/** Makes a revision of a signed file that is allowed, but for one value. */
export interface Carrier {
  /** The kind of revision, and the place of the value. */
  readonly name: string;
  readonly shows: Shows;
  /** Whether the file has the place. */
  readonly isThere: (parts: Parts) => boolean;
  /** `extra`: the value. Undefined: the revision is allowed. `append`: absent for the usual kind. */
  readonly make: (pdf: Buffer, parts: Parts, extra: PdfObject | undefined, append?: Append) => Buffer | Promise<Buffer>;
}

type Entries = Readonly<Record<string, PdfObject>>;
type Change = (revision: Revision, parts: Parts, extra: PdfObject | undefined) => void;

/** What a file must have for a place. */
type Needs = keyof Pick<Parts, 'info' | 'form' | 'text' | 'button' | 'place' | 'comment' | 'structure' | 'element' | 'parents'>;

function carrier(kind: string, place: string, change: Change, needs?: Needs, shows: Shows = 'NOTHING'): Carrier {
  return {
    name: `${kind}: ${place}`,
    shows,
    isThere: (parts) => needs === undefined || parts[needs] !== undefined,
    make: (pdf, parts, extra, append = appendAs('USUAL')) => append(pdf, (revision) => change(revision, parts, extra)),
  };
}

const catalogEntries: readonly Place<Entries>[] = [
  ['DSS', (revision, extra) => ({ DSS: extra ?? revision.add(dictionary(storeOf(revision))) })],
  ['Extensions', (_, extra) => ({ Extensions: extra ?? dictionary({ ADBE: dictionary({ BaseVersion: name('1.7') }) }) })],
  ['Extensions/ADBE', (_, extra) => ({ Extensions: dictionary(having('ADBE', extra)) })],
  ['Extensions/ADBE/X', (_, extra) => ({ Extensions: dictionary({ ADBE: dictionary(having('X', extra)) }) })],
  ['Extensions/ADBE/*', (_, extra) => ({ Extensions: dictionary({ ADBE: listed(extra) }) })],
  ['Extensions/ADBE/BaseVersion', (_, extra) => ({ Extensions: dictionary({ ADBE: dictionary(having('BaseVersion', extra)) }) })],
  ['Metadata', (revision, extra) => ({ Metadata: extra ?? metadata(revision, undefined) })],
  ['Metadata/X', (revision, extra) => ({ Metadata: metadata(revision, extra) })],
  ['Version', (_, extra) => ({ Version: extra ?? name('2.0') })],
  ['Perms/DocMDP', (_, extra) => having('Perms', extra === undefined ? undefined : dictionary({ DocMDP: extra }))],
  ['Perms/X', (_, extra) => having('Perms', extra === undefined ? undefined : dictionary({ X: extra }))],
];

function metadata(revision: Revision, extra: PdfObject | undefined): PdfReference {
  const content = '<x:xmpmeta xmlns:x="adobe:ns:meta/"><a/></x:xmpmeta>';
  return revision.add(stream(content, { Type: name('Metadata'), Subtype: name('XML'), ...having('X', extra) }));
}

/** Of a widget. */
const shownOfFilled: readonly Place<Entries>[] = [
  ...appearances.map(([place, make]): Place<Entries> => [place, (revision, extra) => ({ AP: make(revision, extra) })]),
  ...['M', 'AS'].map((key): Place<Entries> => [key, (_, extra) => having(key, extra)]),
];
/** Of a field. */
const filled: readonly Place<Entries>[] = [
  ['V', (_, extra) => (extra === undefined ? {} : { V: extra })],
  ['V/*', (_, extra) => (extra === undefined ? {} : { V: [extra] })],
  ...['RV', 'TI', 'I'].map((key): Place<Entries> => [key, (_, extra) => having(key, extra)]),
];

/** Fills in the text field. */
function fill(revision: Revision, parts: Parts, entries: Entries = {}): void {
  changeAt(revision, needed(parts.text).field, { V: textString('250'), ...entries });
}

function fillings(): readonly Carrier[] {
  const kind = 'a field that is filled in';
  return [
    ...shownOfFilled.map(([place, make]) =>
      carrier(
        kind,
        place,
        (revision, parts, extra) => {
          fill(revision, parts);
          changeAt(revision, needed(parts.text).widget, make(revision, extra));
        },
        'text',
        'TEXT',
      ),
    ),
    ...filled.map(([place, make]) =>
      carrier(kind, place, (revision, parts, extra) => fill(revision, parts, make(revision, extra)), 'text', 'TEXT'),
    ),
    carrier(
      'a form that is written again',
      'Resources/Font/F1',
      (revision, parts, extra) => {
        fill(revision, parts);
        const { widget } = needed(parts.text);
        const normal = referenceAt(revision, spot(widget.holder, 'AP', 'N'));
        const resources = dictionary({
          Font: dictionary({ F1: extra ?? dictionary({ Type: name('Font'), Subtype: name('Type1'), BaseFont: name('Courier') }) }),
        });
        if (normal !== undefined)
          revision.set(normal, stream('q Q', { Subtype: name('Form'), BBox: [0, 0, 150, 30], Resources: resources }));
      },
      'text',
      'TEXT',
    ),
    carrier('a button', 'AP/N/On', pressed, 'button', 'BUTTON'),
  ];
}

function pressed(revision: Revision, parts: Parts, extra: PdfObject | undefined): void {
  const button = needed(parts.button);
  const state = stateOf(revision, button);
  const normal = spot(button.widget.holder, 'AP', 'N');
  changeAt(revision, button.field, { V: name(state) });
  changeAt(revision, button.widget, { AS: name(state) });
  if (extra !== undefined) changeAt(revision, normal, { [state]: extra });
}

/** The trailer of the last revision names other properties. */
function withInfo(pdf: Buffer, number: number): Buffer {
  const at = pdf.lastIndexOf('/Info ');
  const tail = pdf.toString('latin1', at).replace(/\/Info \d+ 0 R/, `/Info ${number} 0 R`);
  return Buffer.concat([pdf.subarray(0, at), Buffer.from(tail, 'latin1')]);
}

const properties: readonly Carrier[] = [
  carrier(
    'properties',
    'Title',
    (revision, { info }, extra) => changeAt(revision, needed(info), { Title: extra ?? textString('B') }),
    'info',
  ),
  carrier('properties', 'X/*', (revision, { info }, extra) => changeAt(revision, needed(info), { X: listed(extra) }), 'info'),
  carrier(
    'properties',
    'X/X',
    (revision, { info }, extra) => changeAt(revision, needed(info), { X: dictionary(having('X', extra)) }),
    'info',
  ),
  {
    ...{ name: 'properties: Info of the trailer', shows: 'NOTHING', isThere: ({ info }) => info !== undefined },
    make: (pdf, { catalog }, extra, append = appendAs('USUAL')) => {
      const more = append(pdf, (revision) => changeAt(revision, catalog, {}));
      return extra instanceof PdfReference ? withInfo(more, extra.number) : more;
    },
  },
];

const elementFor = (revision: Revision, parts: Parts, kid: PdfObject): PdfReference =>
  revision.add(dictionary({ Type: name('StructElem'), S: name('Form'), P: needed(parts.element).holder, K: kid }));

/** Adds to an array of the dictionary at a spot, or to the one thing that stands in its place. */
function addTo(revision: Revision, at: Spot, key: string, added: readonly PdfObject[]): void {
  const [value, list] = [dictionaryAt(revision, at).get(key), listAt(revision, at, key)];
  const old = list.length > 0 || value === null ? list : [value];
  if (added.length > 0) changeAt(revision, at, { [key]: [...old, ...added] });
}

const structures: readonly (readonly [place: string, Change, Needs])[] = [
  ['Nums/*', (revision, { parents }, extra) => addTo(revision, needed(parents), 'Nums', extra === undefined ? [] : [77, extra]), 'parents'],
  [
    'Nums/*/*',
    (revision, { parents }, extra) => addTo(revision, needed(parents), 'Nums', extra === undefined ? [] : [77, [extra]]),
    'parents',
  ],
  ['Kids/*', (revision, { parents }, extra) => addTo(revision, needed(parents), 'Kids', listed(extra)), 'parents'],
  [
    'ParentTreeNextKey',
    (revision, { structure }, extra) => changeAt(revision, needed(structure), { ParentTreeNextKey: extra ?? 99 }),
    'structure',
  ],
  ['K', (revision, { structure }, extra) => addTo(revision, needed(structure), 'K', listed(extra)), 'structure'],
  ['K of an element', (revision, { element }, extra) => addTo(revision, needed(element), 'K', listed(extra)), 'element'],
  [
    'a new element',
    (revision, parts, extra) =>
      addTo(revision, needed(parts.element), 'K', extra === undefined ? [] : [elementFor(revision, parts, extra)]),
    'element',
  ],
];

const forms: readonly (readonly [place: string, Change, Needs?])[] = [
  ['Fields/*', (revision, { form }, extra) => addTo(revision, needed(form), 'Fields', listed(extra)), 'form'],
  [
    'Fields',
    (revision, { form }, extra) => changeAt(revision, needed(form), { Fields: extra ?? [...listAt(revision, needed(form), 'Fields')] }),
    'form',
  ],
  ['SigFlags', (revision, { form }, extra) => changeAt(revision, needed(form), { SigFlags: extra ?? 3 }), 'form'],
  ['Annots/*', (revision, { page }, extra) => addTo(revision, page, 'Annots', listed(extra))],
  ['Annots', (revision, { page }, extra) => changeAt(revision, page, { Annots: extra ?? [...listAt(revision, page, 'Annots')] })],
  [
    'Tabs',
    (revision, { lastPage }, extra) => {
      if (!dictionaryAt(revision, lastPage).has('Tabs')) changeAt(revision, lastPage, having('Tabs', extra));
    },
  ],
];

const commented: readonly Place<Entries>[] = [
  ...appearances.map(([place, make]): Place<Entries> => [place, (revision, extra) => ({ AP: make(revision, extra) })]),
  ...['Popup', 'IRT', 'FS', 'C', 'BS', 'RC'].map((key): Place<Entries> => [key, (_, extra) => having(key, extra)]),
];

function comments(): readonly Carrier[] {
  return commented.flatMap(([place, make]) => [
    carrier(
      'a new comment',
      place,
      (revision, { page }, extra) => {
        const entries = { Type: name('Annot'), Subtype: name('FreeText'), Rect: [9, 9, 90, 90], Contents: textString('New') };
        addTo(revision, page, 'Annots', [revision.add(dictionary({ ...entries, ...make(revision, extra) }))]);
      },
      undefined,
      'COMMENTS',
    ),
    carrier(
      'a comment',
      place,
      (revision, { comment }, extra) => changeAt(revision, needed(comment), { Contents: textString('Twice'), ...make(revision, extra) }),
      'comment',
      'COMMENTS',
    ),
  ]);
}

/** Every place of every kind of revision that a signature allows. */
export const carriers: readonly Carrier[] = [
  ...storePlaces.map(([place, make]) =>
    carrier('validation data', place, (revision, { store }, extra) => changeAt(revision, store, make(revision, extra, store))),
  ),
  ...catalogEntries.map(([place, make]) =>
    carrier('catalog', place, (revision, { catalog }, extra) => changeAt(revision, catalog, make(revision, extra))),
  ),
  ...fillings(),
  ...signings,
  ...properties,
  ...structures.map(([place, change, needs]) => carrier('structure', place, change, needs)),
  ...forms.map(([place, change, needs]) => carrier('form and pages', place, change, needs)),
  ...comments(),
];
