import { SignatureBroken } from '../../../cms/verify-signer-info.ts';
import { PdfDictionary } from '../../../pdf/objects.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { PdfFault, PdfLocked } from '../../../pdf/pdf-fault.ts';
import { byteRangeOf, docMdpLevel, signatureFields, type DocMdpLevel } from '../signed-fields.ts';
import { coveredRange, endsRevision } from './covered-range.ts';
import { signaturesOf, type EarlierSignature } from './signatures-of.ts';

/** Numbers of a byte range that covers a revision but for a hole. */
interface WrittenRange {
  /** Of the hole. */
  readonly start: number;
  readonly end: number;
  /** End of the revision. */
  readonly stop: number;
}

const pieceBytes = 256 * 1024;
/** A byte range with the white space that fills its room. */
const rangeMaxBytes = 1024;
/**
 * Four integers in an array (ISO 32000-2, 7.2.3 and 7.3.6), whatever names it: a byte range can be an
 * object of its own. No array begins in its comments, so that each is looked at once.
 */
const gap = '(?:[\\0\\t\\n\\f\\r ]|%[^\\r\\n[]*[\\r\\n])';
const rangeText = new RegExp(`\\[${gap}*(\\d{1,15})${gap}+(\\d{1,15})${gap}+(\\d{1,15})${gap}+(\\d{1,15})${gap}*\\]`, 'g');
const rangesMax = 10_000;
/** States of a file that are read for one signature each. */
const statesMax = 200;

/** A signature that a revision of a file has, but the file as it is now does not. */
export interface GoneSignature {
  /** For messages. */
  readonly name: string;
  readonly stop: number;
}

/**
 * Yields the signatures that some revision of a file has and its newest one does not: its form was
 * emptied, the field has another type, or only a page leads to the widget. Readers that search the
 * pages still show them. They are found by their byte ranges in the bytes of the file, since
 * whatever later revisions change, they cannot change what a signature covers. Whether the newest
 * cross-reference goes on from such a revision does not matter: it is whoever added it who decides
 * that, and a copy of the signature dictionary is as good as the signature, for readers.
 * Rights of readers (UR3, ISO 32000-2, 12.8.6) are none of them: readers take them away themselves.
 * @throws {PdfFault} beyond the limit of work, and for more than 200 of them
 */
export function* goneSignatures(file: PdfFile): Generator<GoneSignature, void> {
  const present = presentRanges(file);
  const states = new States(file);
  for (const range of writtenRanges(file)) {
    if (present.has(keyOf(range))) continue;
    const state = states.at(range.stop);
    const named = state === undefined ? undefined : namedBy(state, range);
    if (named !== 'RIGHTS') yield { name: named?.name ?? 'a signature', stop: range.stop };
  }
}

/** What the signatures of all revisions allow, each by what its own revision says. */
export interface RevisionLimits {
  /** Undefined if none of them says. */
  readonly level: DocMdpLevel | undefined;
}

/**
 * Returns what the signatures of earlier revisions allow to be changed. Those that the newest one
 * still has count too, where they refer to something that a later revision could have replaced.
 * @throws {PdfFault} as `goneSignatures` does
 */
export function limitsOfRevisions(file: PdfFile): RevisionLimits {
  const present = presentRanges(file);
  const states = new States(file);
  let level: DocMdpLevel | undefined;
  for (const range of writtenRanges(file)) {
    const known = present.get(keyOf(range));
    if (range.stop === file.bytes.length || known?.dictionary.has('Reference') === false) continue;
    const state = states.at(range.stop);
    if (state === undefined) continue;
    const own = levelOf(state);
    level = level === undefined || (own !== undefined && own < level) ? own : level;
    if (level === 1) break;
  }
  return { level };
}

/** Signatures of the newest revision that stand in the holes of their ranges. */
function presentRanges(file: PdfFile): ReadonlyMap<string, EarlierSignature> {
  const found = new Map<string, EarlierSignature>();
  for (const signature of signaturesOf(file)) {
    const range = rangeOf(file, signature);
    if (range !== undefined) found.set(keyOf(range), signature);
  }
  return found;
}

function rangeOf(file: PdfFile, signature: EarlierSignature): WrittenRange | undefined {
  try {
    return coveredRange(file, signature);
  } catch (error) {
    if (error instanceof SignatureBroken) return undefined;
    return ignoring(file, error);
  }
}

/** Returns what has a byte range in a state of the file; undefined if its form has none. */
function namedBy(state: PdfFile, { start, end, stop }: WrittenRange): EarlierSignature | 'RIGHTS' | undefined {
  const has = (dictionary: PdfDictionary): boolean => byteRangeOf(state, dictionary)?.join(' ') === `0 ${start} ${end} ${stop - end}`;
  try {
    return signaturesOf(state).find(({ dictionary }) => has(dictionary)) ?? (rightsOf(state).some(has) ? 'RIGHTS' : undefined);
  } catch (error) {
    return ignoring(state, error);
  }
}

/** Signatures of the usage rights of readers, which Perms names. */
function rightsOf(state: PdfFile): readonly PdfDictionary[] {
  const permissions = state.get(state.catalog, 'Perms');
  if (!(permissions instanceof PdfDictionary)) return [];
  return ['UR', 'UR3'].map((key) => state.get(permissions, key)).filter((one) => one instanceof PdfDictionary);
}

function levelOf(state: PdfFile): DocMdpLevel | undefined {
  try {
    return docMdpLevel(state, signatureFields(state));
  } catch (error) {
    return ignoring(state, error);
  }
}

/** Reads a file as it was at the ends of its revisions. */
class States {
  readonly #file: PdfFile;
  #left = statesMax;

  constructor(file: PdfFile) {
    this.#file = file;
  }

  /** Undefined for one that cannot be read. @throws {PdfFault} beyond 200 */
  at(stop: number): PdfFile | undefined {
    if (this.#left === 0) throw new PdfFault(`the file has more than ${statesMax} signatures of which earlier revisions must be read`);
    this.#left -= 1;
    try {
      return this.#file.asOf(stop);
    } catch (error) {
      if (error instanceof PdfLocked) return undefined;
      return ignoring(this.#file, error);
    }
  }
}

/** A revision that cannot be read has no signature that a reader would show. */
function ignoring(file: PdfFile, error: unknown): undefined {
  if (!(error instanceof PdfFault)) throw error;
  // Throws again if the limit of work is the reason.
  file.bytes.work.parsed(0);
}

/**
 * Returns the byte ranges that stand in a file and can be those of signatures: each from the first
 * byte to the end of a revision, with a string in its hole.
 */
function writtenRanges(file: PdfFile): readonly WrittenRange[] {
  const { bytes } = file;
  const found = new Map<string, WrittenRange>();
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = bytes.at(at, pieceBytes + rangeMaxBytes);
    for (const match of piece.toString('latin1').matchAll(rangeText)) {
      const [first = 0, start = 0, end = 0, length = 0] = match.slice(1).map(Number);
      const range = { start, end, stop: end + length };
      if (first !== 0 || found.has(keyOf(range)) || !isRange(file, range)) continue;
      if (found.size === rangesMax) throw new PdfFault(`the file has byte ranges of more than ${rangesMax} signatures`);
      found.set(keyOf(range), range);
    }
  }
  return Array.from(found.values()).toSorted((one, other) => one.stop - other.stop);
}

function isRange(file: PdfFile, { start, end, stop }: WrittenRange): boolean {
  const { bytes } = file;
  if (start >= end || stop > bytes.length) return false;
  return bytes.at(start, 1)[0] === 0x3c && bytes.at(end - 1, 1)[0] === 0x3e && endsRevision(file, stop);
}

function keyOf({ start, end, stop }: WrittenRange): string {
  return `${start} ${end} ${stop}`;
}
