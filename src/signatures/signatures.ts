import type { InputDocument } from '../documents/document.ts';
import { hashOfOid } from '../cms/algorithm-identifier.ts';
import type { AskedLevel } from './levels/asked-level.ts';
import type { SignerChain } from './format.ts';
import type { FormatName, PreparedSignatures } from './prepared-signatures.ts';
import type { ThreadedFormat } from './format-steps.ts';
import { cms, raw } from './threaded-formats.ts';
import type { HashName, SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { InputDocumentField } from '../operations/fields/input-documents.ts';
import type { Context } from '../operations/operation.ts';
import {
  checkDigestFits,
  checkFitsKey,
  checkOneAlgorithm,
  checkTrustedAuthority,
  cmsAlgorithm,
  usualAlgorithm,
  type SignerKey,
} from './raw/raw-algorithm.ts';
import type { AskedSignature } from '../operations/sign/asked-signature.ts';
import { cmsParameters } from './cms/cms-entry.ts';

/** Who signs: the key that values are made with, and its certificate with its chain. */
export interface Signer {
  readonly key: SignerKey;
  readonly chain: SignerChain;
}

/** The CA certificate that the chain is to end in: SHA-1 of its DER, hexadecimal. */
export function trustedCaOf(asked: AskedSignature): string | undefined {
  return asked.kind === 'cms' ? asked.options.trustedCA : undefined;
}

/** What is to be done with every document of a request. */
export interface SigningPlan {
  /** One for all documents. */
  readonly algorithm: SignatureAlgorithm;
  /** What is to be signed. @throws {Refusal} where a document is not what its format needs */
  prepare(documents: readonly InputDocument[], context: Pick<Context, 'threads' | 'audit'>): Promise<PreparedSignatures>;
}

/** What follows from the key, before any document is read. @throws {Refusal} FIELDS_INCONSISTENT */
export function signingPlan(asked: AskedSignature, fields: readonly InputDocumentField[], { key, chain }: Signer): SigningPlan {
  checkTrustedAuthority(trustedCaOf(asked), chain.issuers);
  if (asked.kind === 'cms') {
    const algorithm = cmsAlgorithm(asked.options, key);
    return planOf({ name: 'cms', format: cms, level: asked.level }, cmsParameters(asked, algorithm, chain.certificate), chain);
  }
  const algorithms = fields.map((field, index) => {
    const digest = digestHash(field);
    const algorithm = asked.algorithm ?? usualAlgorithm(key, digest);
    checkFitsKey(algorithm, key);
    checkDigestFits(digest, algorithm, index);
    return algorithm;
  });
  return planOf({ name: 'raw', format: raw, level: undefined }, { algorithm: checkOneAlgorithm(algorithms) }, chain);
}

function planOf<Parameters extends { readonly algorithm: SignatureAlgorithm }, State>(
  { name, format, level }: { name: FormatName; format: ThreadedFormat<Parameters, State>; level: AskedLevel | undefined },
  parameters: Parameters,
  signer: SignerChain,
): SigningPlan {
  const { algorithm } = parameters;
  return {
    algorithm,
    async prepare(documents, { threads, audit }) {
      const task = { documents, parameters: documents.map(() => parameters), signer, moment: { now: new Date() } };
      const signatures = { format: name, algorithm, level, prepared: await format.prepare(task, threads) };
      audit.digests.push(...auditedDigests(signatures));
      return signatures;
    },
  };
}

/** What the audit log is told of signatures. */
export function auditedDigests({ algorithm, prepared }: PreparedSignatures): string[] {
  return prepared.map(({ digest }) => `${algorithm.hash}:${Buffer.from(digest).toString('hex')}`);
}

/** The hash of a digest that is given instead of content. */
export function digestHash({ digest }: InputDocumentField): HashName | undefined {
  return digest === undefined ? undefined : hashOfOid(digest.digestAlgOID);
}
