import { isArray, PdfDictionary, PdfName, PdfReference, type PdfObject } from '../../../../src/pdf/objects.ts';
import type { Revision } from '../../../../src/pdf/revision.ts';
import { textString } from '../../../../src/pdf/text-string.ts';
import { changing, reference, revised, stamped, stream } from './revised-pdf.ts';
import { digestKey, numbers } from './rich-pdf.ts';

/** Makes a revision of a signed `richPdf` that is allowed, but for one value. */
export interface Carrier {
  /** The kind of revision, and the place of the value. */
  readonly name: string;
  readonly isOfComments?: boolean;
  /** `extra`: the value. Undefined: the revision is allowed. */
  readonly make: (pdf: Buffer, extra: PdfObject | undefined) => Buffer | Promise<Buffer>;
}

const name = (text: string): PdfName => new PdfName(text);
const dictionary = (entries: Readonly<Record<string, PdfObject>>): PdfDictionary => PdfDictionary.of(entries);
/** Entries with a value, if there is one. */
const having = (key: string, extra: PdfObject | undefined): Record<string, PdfObject> => (extra === undefined ? {} : { [key]: extra });
const listed = (extra: PdfObject | undefined): PdfObject[] => (extra === undefined ? [] : [extra]);
const formXObject = (revision: Revision, more: Readonly<Record<string, PdfObject>> = {}): PdfReference =>
  revision.add(stream('q Q', { Type: name('XObject'), Subtype: name('Form'), BBox: [0, 0, 9, 9], ...more }));

type Place<T> = readonly [place: string, make: (revision: Revision, extra: PdfObject | undefined) => T];
type Entries = Readonly<Record<string, PdfObject>>;

function inRevision(kind: string, [place, make]: Place<void>, more: Pick<Carrier, 'isOfComments'> = {}): Carrier {
  return { name: `${kind}: ${place}`, ...more, make: (pdf, extra) => revised(pdf, (revision) => make(revision, extra)) };
}

const certificates = (revision: Revision): PdfObject[] => [reference(51), revision.add(stream('another certificate'))];
const stores: readonly Place<Entries>[] = [
  ['Certs/*', (revision, extra) => ({ Certs: [...certificates(revision), ...listed(extra)] })],
  ['Certs/*/*', (revision, extra) => ({ Certs: [...certificates(revision), ...(extra === undefined ? [] : [[extra]])] })],
  ['Certs', (revision, extra) => ({ Certs: extra ?? certificates(revision) })],
  ['CRLs/*, an object', (revision, extra) => ({ CRLs: revision.add([reference(53), ...listed(extra)]) })],
  ['OCSPs/*', (_, extra) => ({ OCSPs: listed(extra) })],
  ['OCSPs/*/X of a stream', (revision, extra) => ({ OCSPs: [revision.add(stream('ocsp', having('X', extra)))] })],
  ['VRI', (revision, extra) => ({ VRI: extra ?? revision.add(dictionary({ [digestKey]: reference(55) })) })],
  ...vriPlaces(),
  ['X', (_, extra) => having('X', extra)],
  ['X/*', (_, extra) => (extra === undefined ? {} : { X: [extra] })],
  ['Type', (_, extra) => ({ Type: extra ?? name('DSS') })],
];

function vriPlaces(): readonly Place<Entries>[] {
  const entry =
    (key: string, list: boolean): Place<Entries>[1] =>
    (revision, extra) => ({
      VRI: dictionary({
        [digestKey]: reference(55),
        ['CD'.repeat(20)]: revision.add(
          dictionary({ Cert: [reference(51)], ...having(key, list && extra !== undefined ? [extra] : extra) }),
        ),
      }),
    });
  return [
    ['VRI/digest', (_, extra) => ({ VRI: dictionary({ [digestKey]: reference(55), ...having('CD'.repeat(20), extra) }) })],
    ['VRI/no digest', (_, extra) => ({ VRI: dictionary({ [digestKey]: reference(55), ...having('X', extra) }) })],
    ...['Cert', 'CRL', 'OCSP'].map((key): Place<Entries> => [`VRI/digest/${key}/*`, entry(key, true)]),
    ...['Cert', 'TS', 'TU', 'Type', 'X'].map((key): Place<Entries> => [`VRI/digest/${key}`, entry(key, false)]),
  ];
}

const catalogEntries: readonly Place<Entries>[] = [
  ['DSS', (revision, extra) => ({ DSS: extra ?? revision.add(dictionary({ Certs: certificates(revision) })) })],
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

/** Values of AP. */
const appearances: readonly Place<PdfObject>[] = [
  ['AP', (revision, extra) => extra ?? dictionary({ N: formXObject(revision) })],
  ['AP, an object, /D', (revision, extra) => revision.add(dictionary({ N: formXObject(revision), ...having('D', extra) }))],
  ['AP/N', (revision, extra) => dictionary({ N: extra ?? formXObject(revision) })],
  ['AP/N/On', (revision, extra) => dictionary({ N: dictionary({ Off: formXObject(revision), ...having('On', extra) }) })],
  ['AP/R', (revision, extra) => dictionary({ N: formXObject(revision), ...having('R', extra) })],
  [
    'AP/D/X',
    (revision, extra) => dictionary({ N: formXObject(revision), ...(extra === undefined ? {} : { D: dictionary({ X: extra }) }) }),
  ],
  [
    'AP/D/X/X',
    (revision, extra) =>
      dictionary({ N: formXObject(revision), ...(extra === undefined ? {} : { D: dictionary({ X: dictionary({ X: extra }) }) }) }),
  ],
  ['AP/X', (revision, extra) => dictionary({ N: formXObject(revision), ...having('X', extra) })],
  ...['Resources', 'Group', 'OC', 'X'].map((key): Place<PdfObject> => [
    `AP/N, ${key} of the form`,
    (revision, extra) => dictionary({ N: formXObject(revision, having(key, extra)) }),
  ]),
  ...['XObject', 'Font', 'Properties', 'ProcSet'].map((key): Place<PdfObject> => [
    `AP/N, a resource in ${key}`,
    (revision, extra) => {
      const resource = dictionary({ [key]: dictionary(having('Y', extra)) });
      return dictionary({ N: formXObject(revision, { Resources: resource }) });
    },
  ]),
];

const filled: readonly Place<Entries>[] = [
  ...appearances.map(([place, make]): Place<Entries> => [place, (revision, extra) => ({ AP: make(revision, extra) })]),
  ['V', (_, extra) => (extra === undefined ? {} : { V: extra })],
  ['V/*', (_, extra) => (extra === undefined ? {} : { V: [extra] })],
  ...['RV', 'M', 'AS', 'TI', 'I'].map((key): Place<Entries> => [key, (_, extra) => having(key, extra)]),
];

/** Entries of the field of a new document time-stamp, or of its signature dictionary. */
const signed: readonly (readonly [string, (extra: PdfObject | undefined) => { field?: Entries; entries?: Entries }])[] = [
  ...['Lock', 'SV', 'MK', 'BS', 'P', 'AP', 'Parent', 'Kids', 'Contents', 'C'].map(
    (key) => [`${key} of the field`, (extra: PdfObject | undefined) => ({ field: having(key, extra) })] as const,
  ),
  [
    'AP/D/X of the field',
    (extra) => ({
      field: extra === undefined ? {} : { AP: dictionary({ D: dictionary({ X: extra }) }) },
    }),
  ],
  ...['Prop_Build', 'Cert', 'Location', 'X'].map(
    (key) => [`${key} of the signature`, (extra: PdfObject | undefined) => ({ entries: having(key, extra) })] as const,
  ),
  ['Reference/*/Data of the signature', (extra) => ({ entries: { Reference: [dictionary({ ...having('Data', extra) })] } })],
];

const comments: readonly Place<Entries>[] = [
  ...appearances.map(([place, make]): Place<Entries> => [place, (revision, extra) => ({ AP: make(revision, extra) })]),
  ...['Popup', 'IRT', 'FS', 'C', 'BS', 'RC'].map((key): Place<Entries> => [key, (_, extra) => having(key, extra)]),
];

/** The trailer of the last revision names other properties. */
function withInfo(pdf: Buffer, number: number): Buffer {
  const at = pdf.lastIndexOf('trailer');
  return Buffer.concat([
    pdf.subarray(0, at),
    Buffer.from(pdf.toString('latin1', at).replace(/\/Info \d+ 0 R/, `/Info ${number} 0 R`), 'latin1'),
  ]);
}

const properties: readonly Carrier[] = [
  inRevision('properties', [
    'Title',
    (revision, extra) => changing(revision, reference(numbers.info), { Title: extra ?? textString('B') }),
  ]),
  inRevision('properties', ['X/*', (revision, extra) => changing(revision, reference(numbers.info), { X: listed(extra) })]),
  inRevision('properties', [
    'X/X',
    (revision, extra) => changing(revision, reference(numbers.info), { X: dictionary(having('X', extra)) }),
  ]),
  {
    name: 'properties: Info of the trailer',
    make: (pdf, extra) => {
      const more = revised(pdf, (revision) => changing(revision, reference(numbers.catalog), {}));
      return extra instanceof PdfReference ? withInfo(more, extra.number) : more;
    },
  },
];

const widgetOfStructure = (revision: Revision, extra: PdfObject | undefined, more: Entries): PdfReference =>
  revision.add(dictionary({ Type: name('StructElem'), S: name('Form'), P: reference(numbers.element), ...more, ...having('A', extra) }));

const structures: readonly Place<void>[] = [
  [
    'Nums/*',
    (revision, extra) =>
      changing(revision, reference(numbers.parents), { Nums: [...numsOf(revision), ...(extra === undefined ? [] : [7, extra])] }),
  ],
  [
    'Nums/*/*',
    (revision, extra) =>
      changing(revision, reference(numbers.parents), { Nums: [...numsOf(revision), ...(extra === undefined ? [] : [7, [extra]])] }),
  ],
  ['Kids/*', (revision, extra) => changing(revision, reference(numbers.parents), { ...(extra === undefined ? {} : { Kids: [extra] }) })],
  ['ParentTreeNextKey', (revision, extra) => changing(revision, reference(numbers.structure), { ParentTreeNextKey: extra ?? 9 })],
  ['K', (revision, extra) => changing(revision, reference(numbers.structure), { K: [reference(41), ...listed(extra)] })],
  ['K of an element', (revision, extra) => changing(revision, reference(numbers.element), { K: [reference(43), ...listed(extra)] })],
  [
    'a new element',
    (revision, extra) => {
      if (extra !== undefined)
        changing(revision, reference(numbers.element), { K: [reference(43), widgetOfStructure(revision, undefined, { K: extra })] });
    },
  ],
];

const forms: readonly Place<void>[] = [
  ['Fields/*', (revision, extra) => changing(revision, reference(numbers.form), { Fields: [...fieldsOf(revision), ...listed(extra)] })],
  ['Fields', (revision, extra) => changing(revision, reference(numbers.form), { Fields: extra ?? fieldsOf(revision) })],
  ['SigFlags', (revision, extra) => changing(revision, reference(numbers.form), { SigFlags: extra ?? 3 })],
  [
    'Annots/*',
    (revision, extra) => changing(revision, reference(numbers.page), { Annots: [...annotationsOf(revision), ...listed(extra)] }),
  ],
  ['Annots', (revision, extra) => changing(revision, reference(numbers.page), { Annots: extra ?? annotationsOf(revision) })],
  ['Tabs', (revision, extra) => changing(revision, reference(numbers.otherPage), having('Tabs', extra))],
];

function listOf(revision: Revision, holder: number, key: string): PdfObject[] {
  const object = revision.resolved(reference(holder));
  const list = object instanceof PdfDictionary ? revision.get(object, key) : null;
  return isArray(list) ? [...list] : [];
}
const fieldsOf = (revision: Revision): PdfObject[] => listOf(revision, numbers.form, 'Fields');
const numsOf = (revision: Revision): PdfObject[] => listOf(revision, numbers.parents, 'Nums');
const annotationsOf = (revision: Revision): PdfObject[] => listOf(revision, numbers.page, 'Annots');

/** Every place of every kind of revision that a signature allows. */
export const carriers: readonly Carrier[] = [
  ...stores.map(([place, make]) =>
    inRevision('validation data', [place, (revision, extra) => changing(revision, reference(numbers.store), make(revision, extra))]),
  ),
  ...catalogEntries.map(([place, make]) =>
    inRevision('catalog', [place, (revision, extra) => changing(revision, reference(numbers.catalog), make(revision, extra))]),
  ),
  ...filled.map(([place, make]) =>
    inRevision('a field that is filled in', [
      place,
      (revision, extra) => changing(revision, reference(numbers.text), { V: textString('250'), ...make(revision, extra) }),
    ]),
  ),
  inRevision('a button', [
    'AP/N/On',
    (revision, extra) =>
      changing(revision, reference(numbers.button), {
        ...{ V: name('On'), AS: name('On') },
        AP: dictionary({ N: dictionary({ On: extra ?? reference(32), Off: reference(33) }) }),
      }),
  ]),
  inRevision('a form that is written again', [
    'Resources/Font/F1',
    (revision, extra) => {
      changing(revision, reference(numbers.text), { V: textString('250') });
      const resources = dictionary({ Font: dictionary({ F1: extra ?? reference(35) }) });
      revision.set(reference(numbers.textForm), stream('q Q', { Subtype: name('Form'), BBox: [0, 0, 150, 30], Resources: resources }));
    },
  ]),
  ...signed.flatMap(([place, make]) => [
    { name: `a new signature: ${place}`, make: (pdf: Buffer, extra: PdfObject | undefined) => stamped(pdf, make(extra)) },
    {
      name: `a signature in a field of the form: ${place}`,
      make: (pdf: Buffer, extra: PdfObject | undefined) => stamped(pdf, { existing: numbers.place, ...make(extra) }),
    },
  ]),
  ...properties,
  ...structures.map((place) => inRevision('structure', place)),
  ...forms.map((place) => inRevision('form and pages', place)),
  ...comments.flatMap(([place, make]) => [
    inRevision(
      'a new comment',
      [
        place,
        (revision, extra) => {
          const entries = { Type: name('Annot'), Subtype: name('FreeText'), Rect: [9, 9, 90, 90], Contents: textString('New') };
          const comment = revision.add(dictionary({ ...entries, ...make(revision, extra) }));
          changing(revision, reference(numbers.page), { Annots: [...annotationsOf(revision), comment] });
        },
      ],
      { isOfComments: true },
    ),
    inRevision(
      'a comment',
      [
        place,
        (revision, extra) => changing(revision, reference(numbers.comment), { Contents: textString('Twice'), ...make(revision, extra) }),
      ],
      { isOfComments: true },
    ),
  ]),
];
