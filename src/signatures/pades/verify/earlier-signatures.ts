import type { ByteSource } from '../../../asn1/byte-source.ts';
import { SignatureBroken } from '../../../cms/verify-signer-info.ts';
import { PdfFault } from '../../../pdf/pdf-fault.ts';
import { PdfFile } from '../../../pdf/pdf-file.ts';
import { Refusal } from '../../../result-codes.ts';
import { checkChanges, rulesOf } from './allowed-changes.ts';
import { checkHoles, coveredRange, endsRevision, type CoveredRange } from './covered-range.ts';
import { statesSince, type FileStates } from './file-states.ts';
import { checkObjectHeaders } from './object-headers.ts';
import { sameObjects } from './same-objects.ts';
import { RangeDigests } from './range-digests.ts';
import { ReferenceScan } from './reference-scan.ts';
import { goneSignatures } from './revision-signatures.ts';
import { readSignature, type ReadSignature } from './signature-value.ts';
import { signaturesOf, type EarlierSignature } from './signatures-of.ts';

/**
 * Verifying one takes up to milliseconds, and reads all revisions before it: 200 of them a quarter
 * of the limit of work.
 */
const signaturesMax = 200;

/** A signature, read as far as its digest is needed. */
interface Read extends EarlierSignature {
  readonly range: CoveredRange;
  readonly read: ReadSignature;
}

/**
 * Verifies every signature of a file in the order of their revisions: what it covers, its value by
 * the certificate in it, and that what was changed after it is allowed. One that an earlier revision
 * has must still be there. Chain, validity and revocation of certificates are not checked. `at`:
 * JSON Pointer of the document. Returns what is obsolete in the signatures.
 * @throws {Refusal} EXISTING_SIGNATURE_INVALID, naming the signature and why; UNSUPPORTED for more
 * than 200 signatures
 * @throws {PdfFault} for a file whose form cannot be read
 */
export function checkEarlierSignatures(source: ByteSource, password: string | undefined, at: string): readonly string[] {
  // Of its own, since what is read for the signatures must not count for what is read for the new
  // one.
  const file = new PdfFile(source, password);
  const found = signaturesOf(file);
  if (found.length === 0) {
    checkNoneGone(file, at);
    return [];
  }
  if (found.length > signaturesMax) throw new Refusal('UNSUPPORTED', { at, message: `a PDF may have at most ${signaturesMax} signatures` });
  const signatures = found
    .map((one): Read =>
      refusing(one.name, at, () => ({ ...one, range: coveredRange(file, one), read: readSignature(file, one.dictionary) })),
    )
    .toSorted((one, other) => one.range.stop - other.range.stop);
  const wanted = signatures.flatMap(({ range, read }) => read.hashes.map((hash) => ({ range, hash })));
  const digests = new RangeDigests(source, wanted);
  const obsolete = signatures.flatMap(({ name, range, read }) => {
    const weakness = refusing(name, at, () => read.check((hash) => digests.digest(range, hash)));
    return weakness === undefined ? [] : [`${name} ${weakness}`];
  });
  const open = (one: Read): FileStates => refusing(one.name, at, () => statesOf(source, file, one, password));
  // Not kept as they are: each one is a file with what was read of it.
  const later = signatures.map((one) => {
    const { stop, renamed } = open(one);
    return { stop, renamed };
  });
  const isExtended = later.some(({ stop }) => stop < file.bytes.length);
  if (isExtended) refusing('signatures', at, () => checkObjectHeaders(file, Math.min(...later.map(({ stop }) => stop))));
  const holes = signatures.map(({ range }) => range);
  const scan = isExtended ? refusing('signatures', at, () => ReferenceScan.of(file, later, holes)) : undefined;
  if (scan === undefined) refusing('signatures', at, () => checkHoles(file, holes));
  for (const one of signatures) {
    const states = open(one);
    refusing(one.name, at, () => {
      scan?.checkWhole(states);
      checkChanges(states, rulesOf(states.before), scan);
    });
  }
  checkNoneGone(file, at);
  return obsolete;
}

/** A signature that was taken out of the form is still shown by readers that search the pages. */
function checkNoneGone(file: PdfFile, at: string): void {
  for (const { name, stop } of goneSignatures(file)) {
    const message = `${name} of the document, over its first ${stop} bytes, is not in its form`;
    throw new Refusal('EXISTING_SIGNATURE_INVALID', { at, message });
  }
}

/** Returns the file at the signature and now. @throws {SignatureBroken} */
function statesOf(source: ByteSource, file: PdfFile, { value, field, range }: Read, password: string | undefined): FileStates {
  if (!endsRevision(file, file.bytes.length)) throw new SignatureBroken('is followed by bytes that belong to no revision');
  const states = statesSince(source, file, range.stop, password);
  const isThere = signaturesOf(states.before).some(
    (one) => one.field?.reference.number === field?.reference.number && sameObjects(one.value, value),
  );
  if (!isThere) throw new SignatureBroken('is not in the revision that it covers');
  return states;
}

export interface AppendedOptions {
  readonly password: string | undefined;
  /**
   * As that of a `PdfFile`: what is compared can be more than what was read to make the revision.
   */
  readonly mustBeQuick?: boolean;
}

/**
 * Checks that what this service appended to a file is allowed by the signatures that the file had,
 * so that those that held still hold. The file itself is not hashed again.
 * @throws {SignatureBroken} if it is not
 * @throws {PdfFault}
 * @throws {NotQuick}
 */
export function checkAppended(before: ByteSource, after: ByteSource, { password, mustBeQuick }: AppendedOptions): void {
  const states = statesSince(after, new PdfFile(after, password, { mustBeQuick }), before.bytes, password);
  checkChanges(states, rulesOf(states.before), undefined);
}

function refusing<T>(name: string, at: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof SignatureBroken) && !(error instanceof PdfFault)) throw error;
    const why = error instanceof PdfFault ? `cannot be verified: ${error.message}` : error.message;
    throw new Refusal('EXISTING_SIGNATURE_INVALID', { at, message: `${name} of the document ${why}`, cause: error });
  }
}
