import type { InputDocument } from '../../documents/document.ts';
import { documentDigests } from '../../signatures/raw/document-digests.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { InputDocumentField } from '../fields/input-documents.ts';
import type { Context } from '../operation.ts';
import { checkDigestFits } from '../../signatures/raw/raw-algorithm.ts';
import { digestHash } from '../../signatures/signatures.ts';
import { dataToSignMaxBytes } from '../../signatures/format.ts';
import type { DigestToSign } from './digest-to-sign.ts';

/** A digest given goes with the algorithm named. @throws {Refusal} FIELDS_INCONSISTENT */
export function checkBareDigests(documents: readonly InputDocumentField[], algorithm: SignatureAlgorithm | undefined): void {
  if (algorithm === undefined) return;
  for (const [index, document] of documents.entries()) checkDigestFits(digestHash(document), algorithm, index);
}

/** What is to be signed where nobody knows the signer: by the hash of the algorithm named, else that of the digest given, else SHA-256. */
export async function bareDigests(
  documents: readonly InputDocument[],
  algorithm: SignatureAlgorithm | undefined,
  { threads }: Pick<Context, 'threads'>,
): Promise<DigestToSign[]> {
  const tasks = documents.map(({ source }) => ({
    source,
    hash: algorithm?.hash ?? ('digest' in source ? source.digest.hash : 'sha256'),
  }));
  const digests = await documentDigests(tasks, threads);
  return documents.map(({ id, source }, index) => {
    const [task, digest] = [tasks[index], digests[index]];
    if (task === undefined || digest === undefined) throw new RangeError('a digest for each document');
    const content = 'content' in source && source.content instanceof Uint8Array ? source.content : undefined;
    const dataToSign = content !== undefined && content.length <= dataToSignMaxBytes ? content : undefined;
    return { id, hash: task.hash, digest, dataToSign, algorithm };
  });
}
