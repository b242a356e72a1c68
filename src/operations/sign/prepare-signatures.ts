import type { InputDocument } from '../../documents/document.ts';
import { hashOfOid } from '../../signatures/algorithm-identifier.ts';
import type { SignerChain } from '../../signatures/format.ts';
import type { PreparedSignatures } from '../../signatures/prepared-signatures.ts';
import { cms, raw } from '../../signatures/threaded-formats.ts';
import type { HashName, SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { InputDocumentField } from '../fields/input-documents.ts';
import type { Context } from '../operation.ts';
import {
  checkDigestFits,
  checkFitsKey,
  checkOneAlgorithm,
  checkTrustedAuthority,
  cmsAlgorithm,
  usualAlgorithm,
  type SignerKey,
} from './algorithm.ts';
import type { AskedSignature } from './asked-signature.ts';

/** Who signs: the key that values are made with, and its certificate with its chain. */
export interface Signer {
  readonly key: SignerKey;
  readonly chain: SignerChain;
}

/** The CA certificate that the chain is to end in: SHA-1 of its DER, hexadecimal. */
export function trustedCaOf(asked: AskedSignature): string | undefined {
  return asked.kind === 'cms' ? asked.options.trustedCA : undefined;
}

/** What follows from the key: one algorithm for all documents. @throws {Refusal} FIELDS_INCONSISTENT */
export function algorithmFor(asked: AskedSignature, documents: readonly InputDocumentField[], { key, chain }: Signer): SignatureAlgorithm {
  checkTrustedAuthority(trustedCaOf(asked), chain.issuers);
  if (asked.kind === 'cms') return cmsAlgorithm(asked.options, key);
  const algorithms = documents.map((document, index) => {
    const digest = digestHash(document);
    const algorithm = asked.algorithm ?? usualAlgorithm(key, digest);
    checkFitsKey(algorithm, key);
    checkDigestFits(digest, algorithm, index);
    return algorithm;
  });
  return checkOneAlgorithm(algorithms);
}

/** What is to be signed of every document. @throws {Refusal} where a document is not what its format needs */
export async function prepareSignatures(
  asked: AskedSignature,
  { algorithm, documents, chain }: { algorithm: SignatureAlgorithm; documents: readonly InputDocument[]; chain: SignerChain },
  { threads, audit }: Pick<Context, 'threads' | 'audit'>,
): Promise<PreparedSignatures> {
  const task = { documents, signer: chain, moment: { now: new Date() } };
  const prepared =
    asked.kind === 'cms'
      ? await cms.prepare({ ...task, parameters: documents.map(() => ({ algorithm, detached: asked.detached })) }, threads)
      : await raw.prepare({ ...task, parameters: documents.map(() => ({ algorithm })) }, threads);
  const signatures = { format: asked.kind, algorithm, prepared };
  audit.digests.push(...auditedDigests(signatures));
  return signatures;
}

/** What the audit log is told of signatures. */
export function auditedDigests({ algorithm, prepared }: PreparedSignatures): string[] {
  return prepared.map(({ digest }) => `${algorithm.hash}:${Buffer.from(digest).toString('hex')}`);
}

/** The hash of a digest that is given instead of content. */
export function digestHash({ digest }: InputDocumentField): HashName | undefined {
  return digest === undefined ? undefined : hashOfOid(digest.digestAlgOID);
}
