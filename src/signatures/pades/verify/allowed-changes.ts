import { SignatureBroken } from '../../../cms/verify-signer-info.ts';
import { isArray, PdfDictionary, PdfReference } from '../../../pdf/objects.ts';
import type { PdfFile } from '../../../pdf/pdf-file.ts';
import { docMdpLevel, lockedBy, signatureFields } from '../signed-fields.ts';
import { checkCatalog } from './catalog-changes.ts';
import { Comparison, notAllowed, type ChangeRules } from './comparison.ts';
import { changedFields, checkField, fieldsByNumber } from './field-changes.ts';
import type { FileStates } from './file-states.ts';
import { checkAnnotations, checkDictionary } from './page-changes.ts';
import type { Edge, ReferenceScan } from './reference-scan.ts';

/**
 * Returns what a file allows to be changed, by all of its signatures (ISO 32000-2, 12.8.2.2 and
 * 12.8.2.4). Approval signatures by themselves allow to fill in forms and to sign.
 */
export function rulesOf(file: PdfFile): ChangeRules {
  const fields = signatureFields(file);
  return {
    level: docMdpLevel(file, fields) ?? 2,
    locks: fields.flatMap(({ signature }) => (signature === undefined ? [] : lockedBy(file, signature))),
  };
}

/**
 * Checks that all that changed between two states of a file is allowed: validation data, document
 * time-stamps, metadata; on level 2 new signatures and fields that were filled in; on level 3
 * comments. Everything else that a reader could come to is not. `scan`: the references in the file;
 * absent for changes by this service, which adds no object to which something refers already, and
 * then each object that it changed must be allowed by itself.
 * @throws {SignatureBroken} naming the change
 */
export function checkChanges(states: FileStates, rules: ChangeRules, scan: ReferenceScan | undefined): void {
  const comparison = new Comparison(states, rules);
  checkCatalog(comparison);
  if (comparison.changes.size === 0) return;
  const fields = fieldsByNumber(comparison);
  for (const field of changedFields(comparison, fields)) checkField(comparison, field);
  const reasons = new Map<number, SignatureBroken>();
  for (const [number, change] of comparison.changes) {
    if (change.kind !== 'CHANGED' || comparison.isCompared(number)) continue;
    const { before: was, after: is } = change;
    if (!(was instanceof PdfDictionary) || !(is instanceof PdfDictionary)) continue;
    const reason = brokenBy(() => checkDictionary(comparison, number, was, is));
    if (reason !== undefined) reasons.set(number, reason);
  }
  const isBetween = ({ holder, target }: Edge): boolean => !comparison.changes.has(holder) && comparison.changes.has(target);
  const scanned = scan?.edges.filter(isBetween) ?? [];
  checkAnnotationLists(comparison, [...scanned, ...comparison.edges]);
  const naming = scan?.naming ?? new Set();
  const toCatalog = scan?.edges.filter(({ target }) => target === comparison.after.catalogReference.number) ?? [];
  for (const edge of [...toCatalog, ...scanned, ...comparison.edges])
    if (!comparison.allows(edge, naming)) throw reasons.get(edge.target) ?? notAllowed(described(comparison, edge));
  if (scan === undefined) checkAllCompared(comparison, reasons);
  for (const edge of scan?.edges ?? [])
    if (comparison.changes.get(edge.target)?.kind === 'CHANGED' && !comparison.isCompared(edge.target))
      throw reasons.get(edge.target) ?? notAllowed(described(comparison, edge));
}

/** Annotations of a page can be an object of their own: what leads to it says that it is one. */
function checkAnnotationLists(comparison: Comparison, edges: readonly Edge[]): void {
  const checked = new Set<number>();
  for (const { holder, path, target } of edges) {
    const change = comparison.changes.get(target);
    if (path !== 'Annots' || change?.kind !== 'CHANGED' || !isArray(change.before) || !isArray(change.after)) continue;
    if (!checked.has(target)) checkAnnotations(comparison, change.before, change.after, { holder: target, path: '' });
    checked.add(target);
    const list = new PdfReference(target, 0);
    comparison.enter(list, list, { holder, path });
  }
}

function checkAllCompared(comparison: Comparison, reasons: ReadonlyMap<number, SignatureBroken>): void {
  for (const [number, change] of comparison.changes) {
    if (change.kind === 'NEW' || comparison.isCompared(number)) continue;
    const reason = reasons.get(number);
    if (reason !== undefined) throw reason;
    if (change.kind === 'GONE' || !isArray(change.before) || !isArray(change.after)) throw notAllowed(`object ${number}`);
    checkAnnotations(comparison, change.before, change.after, { holder: number, path: '' });
  }
}

function described({ changes }: Comparison, { holder, path, target }: Edge): string {
  const from = holder === 0 ? 'the trailer' : `object ${holder}`;
  const entry = path === '' ? '' : ` (${path.slice(0, 100)})`;
  const kind = changes.get(target)?.kind;
  if (kind === 'GONE') return `object ${target} is gone, to which ${from} refers${entry}`;
  if (kind === 'NEW') return `there was no object ${target} before, to which ${from} refers${entry}`;
  return `object ${target}, to which ${from} refers${entry}`;
}

function brokenBy(step: () => void): SignatureBroken | undefined {
  try {
    step();
    return undefined;
  } catch (error) {
    if (error instanceof SignatureBroken) return error;
    throw error;
  }
}
