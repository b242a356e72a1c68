import { SignatureBroken } from '../../../cms/verify-signer-info.ts';
import { PdfReference, type PdfObject } from '../../../pdf/objects.ts';
import { PdfFault } from '../../../pdf/pdf-fault.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { placedObject } from '../../../pdf/placed-object.ts';
import { checkOutside, type CoveredRange } from './covered-range.ts';
import { isCrossReference, type FileStates } from './file-states.ts';
import { referencesIn, refersTo } from './same-objects.ts';
import { addNaming } from './settled-objects.ts';

/** A reference to an object, and where it stands. */
export interface Edge {
  /** Number of the object in which it stands; 0 for the trailer. */
  readonly holder: number;
  /** As `FoundReference.path`. */
  readonly path: string;
  readonly target: number;
}

/** Where a revision ends, and what has another entry since. */
type LaterChanges = Pick<FileStates, 'stop' | 'renamed'>;

const edgesMax = 2_000_000;

/**
 * What a file as it is now has of references to the objects that some later revision renamed, and
 * to the catalog, from one pass over all its objects. A change can become visible through objects
 * that did not change: by a reference to an object that did not exist yet, as shadow attacks
 * prepare it (Mladenov et al. 2021), and by an object of which the end, or all, was behind the end
 * of its revision.
 */
export class ReferenceScan {
  readonly edges: readonly Edge[];
  /** Dictionaries in which contents find something by names. */
  readonly naming: ReadonlySet<number>;
  /**
   * Objects that do not end in the revision in which they begin: offset of the beginning, and of
   * the end.
   */
  readonly #torn: readonly { readonly number: number; readonly start: number; readonly end: number }[];
  /** Offsets of objects that begin behind the end of the first state. */
  readonly #later: ReadonlyMap<number, number>;
  /** Objects in streams that were renamed, with the numbers of these. */
  readonly #inRenamed: ReadonlyMap<number, number>;

  private constructor(parts: {
    readonly edges: readonly Edge[];
    readonly naming: ReadonlySet<number>;
    readonly torn: readonly { readonly number: number; readonly start: number; readonly end: number }[];
    readonly later: ReadonlyMap<number, number>;
    readonly inRenamed: ReadonlyMap<number, number>;
  }) {
    this.edges = parts.edges;
    this.naming = parts.naming;
    this.#torn = parts.torn;
    this.#later = parts.later;
    this.#inRenamed = parts.inRenamed;
  }

  /**
   * `holes`: of the signatures.
   * @throws {SignatureBroken} for an object that cannot be read, or reaches into a hole
   * @throws {PdfFault} beyond the limits of a file
   */
  static of(file: PdfFile, states: readonly LaterChanges[], holes: readonly CoveredRange[]): ReferenceScan {
    const renamed = new Set(states.flatMap((one) => Array.from(one.renamed)));
    const stops = states.map(({ stop }) => stop);
    const first = Math.min(...stops);
    const wanted = new Set(renamed).add(file.catalogReference.number);
    const edges: Edge[] = [];
    const naming = new Set<number>();
    const torn: { number: number; start: number; end: number }[] = [];
    const later = new Map<number, number>();
    const inRenamed = new Map<number, number>();
    for (const [number, entry] of file.crossReference.inUse(file.bytes.work)) {
      if (entry.kind === 'STREAM') {
        if (renamed.has(entry.stream)) inRenamed.set(number, entry.stream);
        const inStream = readable(number, () => file.object(new PdfReference(number, 0)));
        addNaming(inStream, naming);
        collect(edges, number, inStream, wanted);
        continue;
      }
      // Some producers write this for an object that there is not. The header is there.
      if (entry.offset === 0) continue;
      if (entry.offset >= first) later.set(number, entry.offset);
      const reference = new PdfReference(number, entry.generation);
      const place = readable(number, () => placedObject(file, reference, entry.offset));
      checkOutside(place, number, holes);
      const { object, start, end } = place;
      if (stops.some((stop) => start < stop && stop < end)) torn.push({ number, start, end });
      addNaming(object, naming);
      collect(edges, number, object, wanted);
    }
    return new ReferenceScan({ edges, naming, torn, later, inRenamed });
  }

  /**
   * Checks that what a revision has ends in it.
   * @throws {SignatureBroken}
   */
  checkWhole({ stop, renamed }: LaterChanges): void {
    const torn = this.#torn.find(({ number, start, end }) => start < stop && stop < end && !renamed.has(number));
    if (torn !== undefined) throw unfinished(torn.number);
    for (const [number, offset] of this.#later) if (offset >= stop && !renamed.has(number)) throw unfinished(number);
    for (const [number, stream] of this.#inRenamed) if (renamed.has(stream) && !renamed.has(number)) throw unfinished(number);
  }
}

function unfinished(number: number): SignatureBroken {
  return new SignatureBroken(`covers only a part of object ${number}, of which the rest was added later`);
}

function collect(edges: Edge[], holder: number, object: PdfObject, wanted: ReadonlySet<number>): void {
  if (!refersTo(object, wanted)) return;
  const isSection = isCrossReference(object);
  for (const { path, target } of referencesIn(object)) {
    // A cross-reference stream is a trailer, too; only that of the newest one counts.
    if (!wanted.has(target.number) || (isSection && trailerKeys.has(path))) continue;
    if (edges.length === edgesMax) throw new PdfFault(`more than ${edgesMax} references to objects that changed`);
    edges.push({ holder, path, target: target.number });
  }
}

const trailerKeys: ReadonlySet<string> = new Set(['Root', 'Info', 'Encrypt']);

/** Other readers may read what this one does not, and come to what changed by it. */
function readable<T>(number: number, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof PdfFault)) throw error;
    throw new SignatureBroken(`cannot be verified, since something follows them and object ${number} cannot be read: ${error.message}`, {
      cause: error,
    });
  }
}
