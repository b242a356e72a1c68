import { contentBytes, type EvidencePiece } from '../../documents/content.ts';
import {
  evidenceBaseName,
  evidenceDocument,
  evidenceFileName,
  type EvidenceDocument,
  type InputDocument,
  isFileName,
} from '../../documents/document.ts';
import { evidenceBase64, isBig, smallBase64, writePieces } from '../../documents/big-content.ts';
import type { LongAnswer } from '../../documents/long-answer.ts';
import { OutputDirectory } from '../../documents/paths/output-directory.ts';
import { isFault, refusalOf } from '../../faults.ts';
import { Refusal } from '../../result-codes.ts';
import type { SignatureEvidence } from '../../signatures/signatures.ts';
import type { Context } from '../operation.ts';
import type { OptionalInputs } from './evidence-output.ts';

const at = '/optionalInputs/evidenceOutput';

type Named = Pick<InputDocument, 'id' | 'fileName'>;
type Outlet = Pick<Context, 'caller' | 'config' | 'threads' | 'transfers' | 'stagedNames' | 'deliveries'>;

/** Destination of evidence. */
export type Output = { readonly mode: 'BASE_64' | 'PLAIN' | 'FTM' } | { readonly mode: 'FILE_PATH'; readonly directory: OutputDirectory };

/** As `openOutput`, where the evidence goes into the answer; otherwise undefined. */
export function outputAtHand(inputs: OptionalInputs | undefined): Output | undefined {
  const { outputMode: mode = 'BASE_64', outputDirectory: path } = inputs?.evidenceOutput ?? {};
  if (mode === 'FTM' || (mode === 'FILE_PATH' && path !== undefined)) return undefined;
  return { mode: mode === 'FILE_PATH' ? 'BASE_64' : mode };
}

/**
 * Opens the destination of the evidence before anything is signed.
 * @throws {Refusal} FILE_ACCESS_DENIED, FILE_NOT_FOUND; UNSUPPORTED for FTM without a transfer
 * store
 */
export async function openOutput(
  inputs: OptionalInputs | undefined,
  { caller, config, transfers, stagedNames, deliveries }: Pick<Outlet, 'caller' | 'config' | 'transfers' | 'stagedNames' | 'deliveries'>,
): Promise<Output> {
  const atHand = outputAtHand(inputs);
  if (atHand !== undefined) return atHand;
  const { outputMode: mode, outputDirectory: path } = inputs?.evidenceOutput ?? {};
  if (mode !== 'FILE_PATH' || path === undefined) {
    if (transfers !== undefined) return { mode: 'FTM' };
    throw new Refusal('UNSUPPORTED', { at: `${at}/outputMode`, message: 'this service has no file transfer store' });
  }
  const { writeDirectories, writeMode } = config.documents;
  const allowed = config.tenants[caller.tenant]?.writeDirectories ?? writeDirectories;
  const options = { names: stagedNames, at: `${at}/outputDirectory`, mode: Number.parseInt(writeMode, 8) };
  const directory = await OutputDirectory.open(path, allowed, options);
  deliveries.addDirectory(directory);
  return { mode, directory };
}

/** As `deliverEvidence`, for small evidence that goes into the answer; otherwise undefined. */
export function evidenceAtHand(
  output: Output,
  documents: readonly Named[],
  evidence: readonly SignatureEvidence[],
  context: Outlet,
): EvidenceDocument[] | undefined {
  const { mode } = output;
  if (mode === 'FILE_PATH' || mode === 'FTM' || evidence.some((one) => isBig(one.evidence.content))) return undefined;
  const pairs = pairsOf(documents, evidence);
  checkAnswerSize(pairs, context.config.limits.answerMaxBytes);
  return pairs.map((one) => inAnswer(one, mode === 'PLAIN' ? undefined : smallBase64(one.evidence.content)));
}

/**
 * Returns the documents of the answer, in the order of the evidence. Evidence for files and for the
 * transfer store is staged, and published once the request is settled and recorded.
 * @throws {Refusal} STORE_FULL; UNSUPPORTED for evidence that is too large for an answer or is not
 * text; DOCUMENT_INVALID if a signed file has changed
 */
export async function deliverEvidence(
  output: Output,
  documents: readonly Named[],
  evidence: readonly SignatureEvidence[],
  context: Outlet,
): Promise<EvidenceDocument[]> {
  const pairs = pairsOf(documents, evidence);
  try {
    if (output.mode === 'FILE_PATH') return await intoFiles(output, pairs, context);
    if (output.mode === 'FTM') return await intoTransferStore(pairs, context);
    checkAnswerSize(pairs, context.config.limits.answerMaxBytes);
    return await Promise.all(
      pairs.map(async (one) =>
        inAnswer(one, output.mode === 'PLAIN' ? undefined : await evidenceBase64(one.evidence.content, context.threads)),
      ),
    );
  } catch (error) {
    if (!isFault(error, 'CONTENT_CHANGED')) throw error;
    throw refusalOf(error, { message: 'a file changed while it was being signed' });
  }
}

/** Evidence with the document that it is named after. */
interface Pair extends Pick<SignatureEvidence, 'evidence'> {
  readonly document: Named;
}

function pairsOf(documents: readonly Named[], evidence: readonly SignatureEvidence[]): Pair[] {
  return evidence.map((one) => {
    const document = documents[one.document];
    if (document === undefined) throw new RangeError('evidence is named after a document of the request');
    return { document, evidence: one.evidence };
  });
}

/** `base64Value`: the evidence in base64; undefined: as text. */
function inAnswer({ document, evidence }: Pair, base64Value: string | LongAnswer | undefined): EvidenceDocument {
  const base64OrText =
    base64Value === undefined ? { plainData: { plainValue: textOf(evidence.content) } } : { base64Data: { base64Value } };
  return evidenceDocument(document, evidence, base64OrText);
}

async function intoFiles(
  { directory }: Extract<Output, { mode: 'FILE_PATH' }>,
  pairs: readonly Pair[],
  { threads }: Outlet,
): Promise<EvidenceDocument[]> {
  const delivered: EvidenceDocument[] = [];
  for (const { document, evidence } of pairs) {
    const wanted = { fileName: evidenceBaseName(nameOf(document), evidence.ending), ending: evidence.ending };
    const fileName = await directory.stage(wanted, async (file) => void (await writePieces(evidence.content, file, threads)));
    const filePathData = { filePath: directory.pathOf(fileName) };
    delivered.push({ ...evidenceDocument(document, evidence, { filePathData }), fileName });
  }
  return delivered;
}

async function intoTransferStore(pairs: readonly Pair[], { caller, transfers, deliveries }: Outlet): Promise<EvidenceDocument[]> {
  if (transfers === undefined) throw new Error('openOutput lets FTM pass with a transfer store alone');
  const delivered: EvidenceDocument[] = [];
  for (const { document, evidence } of pairs) {
    const { mimeType: mediaType, ending } = evidence;
    const fileName = evidenceFileName(evidenceBaseName(nameOf(document), ending), ending);
    const staged = await transfers.stage(evidence.content, { tenant: caller.tenant, mediaType, fileName });
    deliveries.addTransfer(staged);
    const { fileID, fileSize } = staged.file;
    delivered.push(evidenceDocument(document, evidence, { FTMData: { fileSize, fileID } }));
  }
  return delivered;
}

/** Returns the name of a file for the evidence of a document. */
function nameOf({ fileName, id }: Named): string {
  return fileName ?? (isFileName(id) ? id : 'document');
}

function checkAnswerSize(pairs: readonly Pair[], maxBytes: number): void {
  const bytes = pairs.flatMap(({ evidence }) => evidence.content).reduce((total, content) => total + contentBytes(content), 0);
  if (bytes <= maxBytes) return;
  throw new Refusal('UNSUPPORTED', {
    at: `${at}/outputMode`,
    message: `the evidence has ${bytes} bytes, but an answer holds at most ${maxBytes}; outputMode FTM and FILE_PATH have no such limit`,
  });
}

/** Decodes text evidence, which is always in memory. */
function textOf(pieces: readonly EvidencePiece[]): string {
  const inMemory = pieces.filter((piece) => piece instanceof Uint8Array);
  try {
    if (inMemory.length === pieces.length)
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(inMemory));
  } catch {
    // Not UTF-8.
  }
  throw new Refusal('UNSUPPORTED', {
    at: `${at}/outputMode`,
    message: 'the evidence is not UTF-8 text; supported: BASE_64, FTM and FILE_PATH',
  });
}
