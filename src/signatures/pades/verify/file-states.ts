import { firstBytes, type ByteSource } from '../../../asn1/byte-source.ts';
import { SignatureBroken } from '../../../cms/verify-signer-info.ts';
import type { CrossReferenceEntry, CrossReferenceSection } from '../../../pdf/cross-reference-section.ts';
import { isName, PdfReference, PdfStream, type PdfObject } from '../../../pdf/objects.ts';
import { PdfFault } from '../../../pdf/pdf-fault.ts';
import { PdfFile } from '../../../pdf/pdf-file.ts';
import { placedObject } from '../../../pdf/placed-object.ts';
import { sameIndirect } from './same-objects.ts';

/** A file as it was at the end of one of its revisions, and as it is now. */
export interface FileStates {
  readonly before: PdfFile;
  readonly after: PdfFile;
  /** Length of the file as it was. */
  readonly stop: number;
  /** Numbers whose entry in the cross-reference differs between the two. */
  readonly renamed: ReadonlySet<number>;
}

/**
 * How an object changed: it is there instead of none (or instead of one of another generation), it
 * is no longer there, or it has another content.
 */
export type ObjectChange =
  | { readonly kind: 'NEW'; readonly after: PdfObject }
  | { readonly kind: 'GONE' }
  | { readonly kind: 'CHANGED'; readonly before: PdfObject; readonly after: PdfObject };

/** Entries of the cross-reference that later revisions have. */
const laterEntriesMax = 5_000_000;
const spaceMaxBytes = 64 * 1024;

/**
 * Returns the states of a file at the end of a revision and now. The revisions after it must go on
 * from it: the cross-reference of the file contains that of the revision. What stands behind the
 * revision without a cross-reference of its own belongs to no revision, and is not accepted, since
 * some readers search it for objects (incremental saving attack, Mladenov et al. 2019). Nor is a
 * hybrid revision.
 * @throws {SignatureBroken}
 */
export function statesSince(source: ByteSource, after: PdfFile, stop: number, password: string | undefined): FileStates {
  // Many revisions must not take many times as much work as a file may.
  const before = new PdfFile(firstBytes(source, stop), password, { work: after.bytes.work });
  const newest = before.crossReference.sections[0]?.offset;
  const at = after.crossReference.sections.findIndex(({ offset }) => offset === newest);
  if (at < 0) throw new SignatureBroken('is followed by a revision that does not go on from what it covers');
  const later = after.crossReference.sections.slice(0, at);
  if (later.some(({ offset }) => offset + after.base < stop))
    throw new SignatureBroken('is followed by a revision whose cross-reference is in the part that it covers');
  // For some readers, an object is free if the table of such a revision says so, whatever its
  // stream says.
  if (later.some(({ hidden }) => hidden.length > 0))
    throw new SignatureBroken('is followed by a hybrid revision, which readers read in different ways');
  if (later.length === 0 && !isSpace(after, stop)) throw new SignatureBroken('is followed by bytes that belong to no revision');
  return { before, after, stop, renamed: renamedIn(later, before, after, stop) };
}

function isSpace({ bytes }: PdfFile, start: number): boolean {
  const count = bytes.length - start;
  return count <= spaceMaxBytes && /^[\0\t\n\f\r ]*$/.test(bytes.at(start, count).toString('latin1'));
}

function renamedIn(later: readonly CrossReferenceSection[], before: PdfFile, after: PdfFile, stop: number): ReadonlySet<number> {
  const renamed = new Set<number>();
  let entries = 0;
  for (const { subsections, hidden } of later)
    for (const { first, count } of [...subsections, ...hidden]) {
      entries += count;
      after.bytes.work.entries(count);
      if (entries > laterEntriesMax) throw new PdfFault(`revisions after a signature have more than ${laterEntriesMax} entries`);
      for (let number = Math.max(1, first); number < first + count; number += 1)
        if (!sameEntry(before.crossReference.entry(number), after.crossReference.entry(number), stop)) renamed.add(number);
    }
  return renamed;
}

function sameEntry(one: CrossReferenceEntry, other: CrossReferenceEntry, stop: number): boolean {
  if (one.kind === 'FREE') return other.kind === 'FREE';
  if (one.kind === 'STREAM') return other.kind === 'STREAM' && one.stream === other.stream && one.index === other.index;
  // An offset behind the end named nothing, and names what was put there.
  return other.kind === 'FILE' && one.offset === other.offset && one.generation === other.generation && one.offset < stop;
}

/**
 * Returns the objects that changed, by their numbers. Those that were written again as they were
 * are not among them.
 * @throws {SignatureBroken} for one that cannot be read, before or now, and for a changed object
 *   stream, since it would change the objects in it
 */
export function changedObjects({ before, after, renamed }: FileStates): ReadonlyMap<number, ObjectChange> {
  const changes = new Map<number, ObjectChange>();
  for (const number of renamed) {
    const [one, other] = [generationOf(before, number), generationOf(after, number)];
    const was = one === undefined ? null : readable(before, new PdfReference(number, one));
    const is = other === undefined ? null : readable(after, new PdfReference(number, other));
    if (is instanceof PdfStream) checkEnd(after, is);
    if (isObjectStream(before, was))
      throw new SignatureBroken(`is followed by a change of the object stream ${number}, which has other objects in it`);
    if (one === other && sameIndirect(before, was, after, is)) continue;
    if (is === null) changes.set(number, { kind: 'GONE' });
    else if (was === null || one !== other) changes.set(number, { kind: 'NEW', after: is });
    else changes.set(number, { kind: 'CHANGED', before: was, after: is });
  }
  return changes;
}

/**
 * Readers look for another end of a stream that does not end where its length says, and show what
 * they find.
 */
function checkEnd(file: PdfFile, { encoded }: PdfStream): void {
  if (encoded instanceof Uint8Array) return;
  const { reference } = encoded;
  const entry = file.crossReference.entry(reference.number);
  if (entry.kind !== 'FILE' || !placedObject(file, reference, entry.offset).hasLength)
    throw new SignatureBroken(`is followed by a stream that does not end where its length says: object ${reference.number}`);
}

function generationOf(file: PdfFile, number: number): number | undefined {
  const entry = file.crossReference.entry(number);
  return entry.kind === 'FREE' ? undefined : entry.kind === 'FILE' ? entry.generation : 0;
}

/**
 * Other readers may read what this one does not: a dictionary that has a key twice, a stream in
 * another syntax.
 */
function readable(file: PdfFile, reference: PdfReference): PdfObject {
  try {
    return file.object(reference);
  } catch (error) {
    if (!(error instanceof PdfFault)) throw error;
    throw new SignatureBroken(`is followed by a change of object ${reference.number}, which cannot be read: ${error.message}`, {
      cause: error,
    });
  }
}

function isObjectStream(file: PdfFile, object: PdfObject): boolean {
  return object instanceof PdfStream && isName(file.get(object.dictionary, 'Type'), 'ObjStm');
}

export function isCrossReference(object: PdfObject): boolean {
  return object instanceof PdfStream && isName(object.dictionary.get('Type'), 'XRef');
}
