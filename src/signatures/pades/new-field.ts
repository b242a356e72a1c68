import { formFields, formOf, type FormField } from '../../pdf/form-fields.ts';
import { isArray, isInteger, PdfDictionary, PdfName, PdfReference, PdfStream, type PdfObject } from '../../pdf/objects.ts';
import type { Page } from '../../pdf/pages.ts';
import type { Revision } from '../../pdf/revision.ts';
import { addToStructure, isTagged } from '../../pdf/structure-tree.ts';
import { textString } from '../../pdf/text-string.ts';
import { PdfFault } from '../../pdf/pdf-fault.ts';

/** Bits of an annotation (ISO 32000-2, 12.5.3, table 167): it is printed, and cannot be moved. */
const printFlag = 4;
const widgetFlags = printFlag | 128;
/**
 * Bits of SigFlags (12.7.3, table 225): there are signatures, and the file may only be appended to.
 */
const signatureFlags = 1 | 2;

export interface NewField {
  readonly page: Page;
  /** The signature. */
  readonly value: PdfReference;
  /** In the coordinates of the page; all zero for an invisible signature. */
  readonly rectangle: readonly [number, number, number, number];
  /** The form XObject that is shown; undefined for a field that needs none. */
  readonly appearance: PdfReference | undefined;
  readonly lock: PdfObject;
  readonly alternativeName: string;
}

/**
 * Adds a signature field to the form, to a page, and to the structure of a tagged file. An
 * invisible one is beside the page there and not in the structure (ISO 14289-1, 7.18.4), whose
 * change after an earlier signature validators do not accept. Returns its name.
 */
export function addField(revision: Revision, field: NewField): string {
  const { page, alternativeName, rectangle, appearance } = field;
  const name = unusedName(revision);
  const widget = revision.reserve();
  const [left, bottom, right, top] = rectangle;
  const isVisible = right > left && top > bottom;
  const isInStructure = isVisible && isTagged(revision.file);
  const [outsideX, outsideY] = [page.box.left - 1, page.box.bottom - 1];
  revision.set(
    widget,
    PdfDictionary.of({
      ...{ Type: new PdfName('Annot'), Subtype: new PdfName('Widget'), FT: new PdfName('Sig') },
      ...{ T: textString(name), TU: textString(alternativeName), F: widgetFlags },
      Rect: isVisible || !isTagged(revision.file) ? rectangle : [outsideX, outsideY, outsideX, outsideY],
      ...{ P: page.reference, V: field.value },
      AP: appearance === undefined ? undefined : PdfDictionary.of({ N: appearance }),
      MK: page.rotation === 0 ? undefined : PdfDictionary.of({ R: page.rotation }),
      Lock: field.lock,
      StructParent: isInStructure ? addToStructure(revision, page, widget, alternativeName) : undefined,
    }),
  );
  addAnnotation(revision, page, widget);
  addToForm(revision, widget);
  return name;
}

export interface FilledField {
  /** The signature. */
  readonly value: PdfReference;
  readonly lock: PdfReference | null;
  /** Form XObjects, one for each widget. */
  readonly appearances: readonly PdfReference[];
}

/** Puts a signature into an existing field. Everything else of the field stays. */
export function fillField(revision: Revision, field: FormField, { value, lock, appearances }: FilledField): void {
  for (const [index, { reference, dictionary }] of field.widgets.entries()) {
    const flags = revision.get(dictionary, 'F');
    const printed = (isInteger(flags) ? flags : 0) | printFlag;
    revision.set(reference, dictionary.with({ AP: PdfDictionary.of({ N: appearances[index] }), F: printed }));
  }
  const changed = revision.resolved(field.reference);
  const dictionary = changed instanceof PdfDictionary ? changed : field.dictionary;
  revision.set(field.reference, dictionary.with({ V: value, ...(lock === null ? {} : { Lock: lock }) }));
  flagForm(revision);
}

/** Adds an appearance that shows nothing: PDF/A wants one for each field. */
export function emptyAppearance(revision: Revision): PdfReference {
  const dictionary = PdfDictionary.of({
    Type: new PdfName('XObject'),
    Subtype: new PdfName('Form'),
    BBox: [0, 0, 0, 0],
    Resources: new PdfDictionary(),
  });
  return revision.add(new PdfStream(dictionary, new Uint8Array()));
}

function unusedName({ file }: Revision): string {
  const used = new Set(Array.from(formFields(file), ({ name }) => name.split('.')[0]));
  for (let count = 1; ; count += 1) if (!used.has(`Signature${count}`)) return `Signature${count}`;
}

function addAnnotation(revision: Revision, { reference, dictionary }: Page, widget: PdfReference): void {
  const page = revision.resolved(reference);
  const current = page instanceof PdfDictionary ? page : dictionary;
  // The keyboard then goes through the fields in the order of the structure (ISO 14289-1, 7.18.3).
  const needsTabs = isTagged(revision.file) && !current.has('Tabs');
  const tabs = needsTabs ? { Tabs: new PdfName('S') } : {};
  if (needsTabs) revision.set(reference, current.with(tabs));
  appendTo(revision, current.with(tabs), 'Annots', widget, (changed) => {
    revision.set(reference, changed);
  });
}

function addToForm(revision: Revision, widget: PdfReference): void {
  const { form, put } = flagForm(revision);
  appendTo(revision, form, 'Fields', widget, put);
}

/** Says in the form that there are signatures. Returns the form, and how to change it further. */
function flagForm(revision: Revision): { readonly form: PdfDictionary; readonly put: (changed: PdfDictionary) => void } {
  const { file } = revision;
  const found = formOf(file);
  const known = found ?? new PdfDictionary();
  const place = file.catalog.get('AcroForm');
  const flags = file.get(known, 'SigFlags');
  const form = known.with({ SigFlags: (isInteger(flags) ? flags : 0) | signatureFlags });
  const put = (changed: PdfDictionary): void => {
    // A reference that leads to nothing may stand elsewhere, too, for something else.
    if (place instanceof PdfReference && found !== undefined) revision.set(place, changed);
    else changeCatalog(revision, { AcroForm: changed });
  };
  put(form);
  return { form, put };
}

/**
 * Appends to an array of a dictionary, where the array stands: in it, or in an object of its own.
 */
function appendTo(
  revision: Revision,
  dictionary: PdfDictionary,
  key: string,
  element: PdfReference,
  put: (changed: PdfDictionary) => void,
): void {
  const place = dictionary.get(key);
  const list = revision.resolved(place);
  if (list !== null && !isArray(list)) throw new PdfFault(`${key} is no array`);
  // The fields of the form and the annotations of a page can be one array.
  if (list?.some((one) => element.equals(one)) === true) return;
  const longer = [...(list ?? []), element];
  if (place instanceof PdfReference && list !== null) revision.set(place, longer);
  else put(dictionary.with({ [key]: longer }));
}

/** Changes entries of the catalog. */
export function changeCatalog(revision: Revision, changes: Readonly<Record<string, PdfObject>>): void {
  const { catalogReference } = revision.file;
  const catalog = revision.resolved(catalogReference);
  if (!(catalog instanceof PdfDictionary)) throw new PdfFault('the catalog is no dictionary');
  revision.set(catalogReference, catalog.with(changes));
}

/**
 * Declares the extension of PDF by which signatures and their validation data are read before PDF
 * 2.0 (EN 319 142-1 §5.6).
 */
export function declareExtension(revision: Revision): void {
  const { file } = revision;
  const catalog = revision.resolved(file.catalogReference);
  if (!(catalog instanceof PdfDictionary) || versionOf(file.headerVersion, revision.get(catalog, 'Version')) >= 2) return;
  const known = revision.get(catalog, 'Extensions');
  const extensions = known instanceof PdfDictionary ? known : new PdfDictionary();
  if (extensions.has('ESIC')) return;
  const level = PdfDictionary.of({ BaseVersion: new PdfName('1.7'), ExtensionLevel: 1 });
  changeCatalog(revision, { Extensions: extensions.with({ ESIC: level }) });
}

function versionOf(header: string, inCatalog: PdfObject): number {
  const later = inCatalog instanceof PdfName ? Number(inCatalog.text) : 0;
  return Math.max(Number(header), Number.isFinite(later) ? later : 0);
}
