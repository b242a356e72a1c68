import { SignatureBroken } from '../../../cms/verify-signer-info.ts';
import { PdfReference, type PdfDictionary, type PdfObject } from '../../../pdf/objects.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { signatureFields, type DocMdpLevel, type LockedFields, type SignatureField } from '../signed-fields.ts';
import { changedObjects, type FileStates, type ObjectChange } from './file-states.ts';
import type { Edge } from './reference-scan.ts';
import { below, referencesIn, sameObjects } from './same-objects.ts';
import { leadsTo, type SettledKind } from './settled-objects.ts';

/** What may change after a signature. */
export interface ChangeRules {
  readonly level: DocMdpLevel;
  /** Fields that are locked. */
  readonly locks: readonly LockedFields[];
}

/**
 * Where a value stands in the file as it is now: in an object (0 for the trailer), behind these
 * keys.
 */
export interface Place {
  readonly holder: number;
  readonly path: string;
}

/** A value in both states, with its references followed, and where it stands now. */
export interface Entered {
  readonly was: PdfObject;
  readonly is: PdfObject;
  readonly place: Place;
}

/**
 * Compares two states of a file. Only objects that changed need a look, but each of them from every
 * side from which a reader can come to it. So the comparison keeps
 * - claims: places from which an object may be reached that is new, or that changed and was compared
 *   as what it is there. They are made from the catalog down, or by what leads to an object.
 * - settled objects: what changed of them is allowed wherever a reader comes to them as what they
 *   are: Annots of a page, V and AP of a field, K of a structure element.
 * - edges: references from what did not change to objects that did.
 * In the end, each edge leads to a settled object as what it is, or is claimed. An object that changed
 * and was neither compared nor settled is reached from nowhere: that something names it allows
 * nothing. No edge begins in a dictionary in which contents find something by names: there, a
 * claimed entry could be another thing.
 */
export class Comparison {
  readonly before: PdfFile;
  readonly after: PdfFile;
  readonly rules: ChangeRules;
  readonly changes: ReadonlyMap<number, ObjectChange>;
  /** Signature fields that were not there before. */
  readonly newFields: readonly SignatureField[];
  readonly #newWidgets: ReadonlySet<string>;
  readonly #claims = new Map<number, Set<string>>();
  readonly #compared = new Set<number>();
  readonly #settled = new Map<number, SettledKind>();
  readonly #edges: Edge[] = [];
  readonly #seen = new Map<object, Set<string>>();

  constructor(states: FileStates, rules: ChangeRules) {
    this.before = states.before;
    this.after = states.after;
    this.rules = rules;
    this.changes = changedObjects(states);
    const known = new Set(signatureFields(this.before).map(({ reference }) => reference.number));
    this.newFields = signatureFields(this.after).filter(({ reference }) => !known.has(reference.number));
    this.#newWidgets = new Set(this.newFields.flatMap(({ widgets }) => widgets.map(({ reference }) => reference.toString())));
  }

  /** Checks whether something names a widget of a new signature field. */
  isNewWidget(object: PdfObject): boolean {
    return object instanceof PdfReference && this.#newWidgets.has(object.toString());
  }

  /** Edges from unchanged values in changed objects. */
  get edges(): readonly Edge[] {
    return this.#edges;
  }

  /**
   * Follows a value that may be a reference, and allows to reach what it names from there: the
   * caller compares both states of it by their type.
   * @throws {SignatureBroken} for an object that changed and was not at this place before
   */
  enter(was: PdfObject, is: PdfObject, place: Place): Entered {
    if (is instanceof PdfReference) {
      if (this.changes.get(is.number)?.kind === 'CHANGED') {
        if (!is.equals(was)) throw notAllowed(`object ${is.number}, which was something else before${shownPlace(place)}`);
        this.#compared.add(is.number);
      }
      this.#claim(place, is.number);
    }
    const here = is instanceof PdfReference ? { holder: is.number, path: '' } : place;
    return { was: this.before.resolved(was), is: this.after.resolved(is), place: here };
  }

  /** Allows to reach a new object from a place at which the caller has found it to be allowed. */
  allowNew(is: PdfObject, place: Place): void {
    if (!(is instanceof PdfReference)) return;
    const kind = this.changes.get(is.number)?.kind;
    if (kind === 'NEW') this.#claim(place, is.number);
    else if (kind !== undefined) throw notAllowed(`object ${is.number}, which is not new${shownPlace(place)}`);
  }

  /** Checks whether something is asked about for the first time, by a type and a key. */
  isFirst(type: object, key: string): boolean {
    const seen = this.#seen.get(type) ?? new Set();
    this.#seen.set(type, seen);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  }

  #claim({ holder, path }: Place, target: number): void {
    const places = this.#claims.get(target) ?? new Set();
    this.#claims.set(target, places.add(`${holder} ${path}`));
  }

  isSettled(number: number): boolean {
    return this.#settled.has(number);
  }

  /**
   * Says of a changed object that what changed of it is allowed, where it is reached as what it is.
   */
  settle(number: number, kind: SettledKind): void {
    this.#settled.set(number, kind);
  }

  /**
   * Checks that a value is the same, and keeps what it leads to. `what`: the change, for the
   * message.
   */
  mustBeSame(was: PdfObject, is: PdfObject, place: Place, what: string): void {
    if (!sameObjects(was, is)) throw notAllowed(what);
    this.keep(is, place);
  }

  /** Keeps the references of a value that did not change. */
  keep(is: PdfObject, { holder, path }: Place): void {
    for (const { path: at, target } of referencesIn(is, path))
      if (this.changes.has(target.number)) this.#edges.push({ holder, path: at, target: target.number });
  }

  /** Keeps the values of a dictionary that did not change. */
  keepOthers(was: PdfDictionary, is: PdfDictionary, { holder, path }: Place): void {
    for (const [key, value] of is.entries()) if (sameObjects(was.get(key), value)) this.keep(value, { holder, path: below(path, key) });
  }

  /**
   * Checks whether an edge leads to a change that is allowed from there. `naming`: dictionaries of
   * names.
   */
  allows({ holder, path, target }: Edge, naming: ReadonlySet<number>): boolean {
    if (naming.has(holder)) return false;
    const kind = this.#settled.get(target);
    return (kind !== undefined && leadsTo(kind, path)) || this.#claims.get(target)?.has(`${holder} ${path}`) === true;
  }

  /** Checks whether what changed of an object was compared, as what it is at some place. */
  isCompared(number: number): boolean {
    return this.#settled.has(number) || this.#compared.has(number);
  }
}

function shownPlace({ path }: Place): string {
  return path === '' ? '' : ` (${path.slice(0, 100)})`;
}

/** `what`: the change, such as `another page tree`. */
export function notAllowed(what: string): SignatureBroken {
  return new SignatureBroken(`does not allow what was changed after it: ${what}`);
}
