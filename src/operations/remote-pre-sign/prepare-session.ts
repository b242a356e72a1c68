import { contentBytes } from '../../documents/content-pieces.ts';
import type { Content } from '../../documents/content.ts';
import type { InputDocument } from '../../documents/document.ts';
import type { SessionState } from '../../signatures/sessions/session-state.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { Context } from '../operation.ts';
import type { SigningPlan } from '../../signatures/signatures.ts';
import { bareDigests } from './bare-digests.ts';
import type { DigestToSign } from './digest-to-sign.ts';
import type { ExternalSigner } from './external-signer.ts';

/** A signature in two steps after the first one. */
export interface PreparedSession {
  readonly digests: readonly DigestToSign[];
  readonly state: SessionState;
  /** The contents that completing needs again. */
  readonly contents: readonly (Content | undefined)[];
}

/** By a format, for a signer that is known. @throws {Refusal} where a document is not what its format needs */
export async function prepareSession(
  plan: SigningPlan,
  documents: readonly InputDocument[],
  { chain }: ExternalSigner,
  context: Pick<Context, 'threads' | 'audit'>,
): Promise<PreparedSession> {
  const { algorithm } = plan;
  const signatures = await plan.prepare(documents, context);
  const contents = documents.map(({ source }, index) =>
    signatures.prepared[index]?.needsContent === true && 'content' in source ? source.content : undefined,
  );
  const digests = signatures.prepared.map(({ digest, dataToSign }, index) => ({
    ...{ id: documents[index]?.id ?? '', hash: algorithm.hash },
    ...{ digest, dataToSign, algorithm },
  }));
  return {
    digests,
    contents,
    state: { documents: remembered(documents, contents), signing: { kind: 'prepared', signatures, signer: chain } },
  };
}

/** Values that nobody can verify: the digests are all that there is to prepare. */
export async function prepareBareSession(
  documents: readonly InputDocument[],
  algorithm: SignatureAlgorithm | undefined,
  context: Pick<Context, 'threads' | 'audit'>,
): Promise<PreparedSession> {
  const digests = await bareDigests(documents, algorithm, context);
  context.audit.digests.push(...digests.map(({ hash, digest }) => `${hash}:${Buffer.from(digest).toString('hex')}`));
  const contents = documents.map(() => undefined);
  return { digests, contents, state: { documents: remembered(documents, contents), signing: { kind: 'bare', algorithm } } };
}

function remembered(documents: readonly InputDocument[], contents: readonly (Content | undefined)[]): SessionState['documents'] {
  return documents.map(({ id, fileName }, index) => {
    const content = contents[index];
    return { id, fileName, contentBytes: content === undefined ? undefined : contentBytes(content) };
  });
}
