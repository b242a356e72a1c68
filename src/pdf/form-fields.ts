import { isArray, isInteger, PdfDictionary, PdfName, PdfReference, type PdfObject } from './objects.ts';
import type { PdfFile } from './pdf-file.ts';
import { PdfFault } from './pdf-fault.ts';
import { textOf } from './text-string.ts';

/** A field of the interactive form (ISO 32000-2, 12.7.4) that no other fields are in. */
export interface FormField {
  readonly reference: PdfReference;
  readonly dictionary: PdfDictionary;
  /** The field that has it among its kids; undefined for one that the form names. */
  readonly parent: PdfReference | undefined;
  /** Fully qualified name (12.7.4.2). */
  readonly name: string;
  /** FT, inherited where the field has none: Btn, Tx, Ch or Sig. */
  readonly type: string | undefined;
  /** Ff, inherited. */
  readonly flags: number;
  /** V, inherited; as it stands there. */
  readonly value: PdfObject;
  /** Its widget annotations: often the field itself. */
  readonly widgets: readonly { readonly reference: PdfReference; readonly dictionary: PdfDictionary }[];
}

const depthMax = 100;
/** With their widgets. */
const fieldsMax = 500_000;
const nameMaxCharacters = 4096;

interface Above {
  readonly parent: PdfReference | undefined;
  readonly name: string | undefined;
  readonly type: PdfObject;
  readonly flags: PdfObject;
  readonly value: PdfObject;
}

/**
 * Returns the interactive form of a file, as it stands in the catalog or in an object of its own.
 */
export function formOf(file: PdfFile): PdfDictionary | undefined {
  const form = file.get(file.catalog, 'AcroForm');
  if (form === null) return undefined;
  if (form instanceof PdfDictionary) return form;
  throw new PdfFault('the interactive form is no dictionary');
}

/**
 * Yields the fields of the interactive form.
 * @throws {PdfFault} for a tree of fields that is not sound
 */
export function* formFields(file: PdfFile): Generator<FormField, void> {
  const form = formOf(file);
  if (form === undefined) return;
  const fields = file.get(form, 'Fields');
  if (fields === null) return;
  if (!isArray(fields)) throw new PdfFault('the fields of the interactive form are no array');
  const walk = new FieldWalk(file);
  for (const field of fields) yield* walk.field(field, { parent: undefined, name: undefined, type: null, flags: null, value: null }, 0);
}

class FieldWalk {
  readonly #file: PdfFile;
  readonly #seen = new Set<number>();

  constructor(file: PdfFile) {
    this.#file = file;
  }

  *field(object: PdfObject, above: Above, depth: number): Generator<FormField, void> {
    if (!(object instanceof PdfReference)) throw new PdfFault('a field of the interactive form is no reference');
    const { number } = object;
    if (depth > depthMax) throw new PdfFault(`the interactive form has more than ${depthMax} levels`);
    this.#see(number);
    const found = this.#file.resolved(object);
    // Fields that were deleted may still be named.
    if (found === null) return;
    if (!(found instanceof PdfDictionary)) throw new PdfFault(`field ${number} is no dictionary`);
    const here = this.#below(object, found, above);
    const kids = this.#file.get(found, 'Kids');
    const parts = isArray(kids) ? kids.map((kid) => ({ kid, dictionary: this.#file.resolved(kid) })) : [];
    // A kid with a name is a field; one without is a widget of this field (12.7.4.2).
    const isParent = parts.some(({ dictionary }) => dictionary instanceof PdfDictionary && dictionary.has('T'));
    if (isParent) {
      for (const { kid } of parts) yield* this.field(kid, here, depth + 1);
      return;
    }
    const type = this.#file.resolved(here.type);
    const flags = this.#file.resolved(here.flags);
    const kidWidgets = parts.flatMap(({ kid, dictionary }) =>
      kid instanceof PdfReference && dictionary instanceof PdfDictionary ? [{ reference: kid, dictionary }] : [],
    );
    for (const { reference } of kidWidgets) this.#see(reference.number);
    yield {
      ...{ reference: object, dictionary: found, parent: above.parent, name: here.name ?? '' },
      type: type instanceof PdfName ? type.text : undefined,
      flags: isInteger(flags) ? flags : 0,
      value: here.value,
      widgets: kidWidgets.length > 0 ? kidWidgets : [{ reference: object, dictionary: found }],
    };
  }

  /** A widget of two fields would show the value of the one or the other. */
  #see(number: number): void {
    if (this.#seen.has(number)) throw new PdfFault(`the interactive form has object ${number} twice`);
    if (this.#seen.size === fieldsMax) throw new PdfFault(`the interactive form has more than ${fieldsMax} fields`);
    this.#seen.add(number);
  }

  #below(reference: PdfReference, dictionary: PdfDictionary, above: Above): Above {
    const partial = textOf(this.#file.get(dictionary, 'T'));
    const name = partial === undefined ? above.name : above.name === undefined ? partial : `${above.name}.${partial}`;
    if (name !== undefined && name.length > nameMaxCharacters)
      throw new PdfFault(`the interactive form has a name of more than ${nameMaxCharacters} characters`);
    const own = (key: string, inherited: PdfObject): PdfObject => (dictionary.has(key) ? dictionary.get(key) : inherited);
    return {
      ...{ parent: reference, name },
      type: own('FT', above.type),
      flags: own('Ff', above.flags),
      value: own('V', above.value),
    };
  }
}
