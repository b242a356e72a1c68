import { z } from 'zod';
import { readCertificate } from '../../x509/certificate.ts';
import { hashNames, type SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { readPublicKey } from '../../verification/public-key.ts';
import { AskedLevel } from '../levels/asked-level.ts';
import type { SignerChain } from '../format.ts';
import { formatNames, type PreparedSignatures } from '../prepared-signatures.ts';

/** What a session has to know of a document beside what a format prepared of it. */
export interface SessionDocument {
  readonly id: string;
  readonly fileName: string | undefined;
  /** Of its content, where completing needs that again. */
  readonly contentBytes: number | undefined;
}

/** Signatures of a known signer, whose values are verified; or values that nobody can verify, and that are the evidence as they are. */
export type SessionSignatures =
  | { readonly kind: 'prepared'; readonly signatures: PreparedSignatures; readonly signer: SignerChain }
  | { readonly kind: 'bare'; readonly algorithm: SignatureAlgorithm | undefined };

/** What remotePreSign leaves for remoteSign. */
export interface SessionState {
  readonly documents: readonly SessionDocument[];
  readonly signing: SessionSignatures;
}

const Bytes = z.base64().transform((text): Uint8Array => Buffer.from(text, 'base64'));
const Hash = z.enum(hashNames);
const Algorithm = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: z.literal('RSA_PKCS1'), hash: Hash }),
  z.strictObject({ scheme: z.literal('RSA_PSS'), hash: Hash, mgfHash: Hash, saltBytes: z.int() }),
  z.strictObject({ scheme: z.literal('ECDSA'), hash: Hash }),
]);
const Stored = z.strictObject({
  documents: z.array(z.strictObject({ id: z.string(), fileName: z.string().optional(), contentBytes: z.int().optional() })),
  bare: z.strictObject({ algorithm: Algorithm.optional() }).optional(),
  prepared: z
    .strictObject({
      format: z.enum(formatNames),
      algorithm: Algorithm,
      level: AskedLevel.optional(),
      certificate: Bytes,
      issuers: z.array(Bytes),
      // dataToSign was kept by earlier versions: the digest says as much.
      documents: z.array(
        z.strictObject({ digest: Bytes, dataToSign: z.base64().optional(), needsContent: z.boolean(), state: z.unknown() }),
      ),
    })
    .optional(),
});

/** As a session is stored, before it is encrypted. */
export function sessionText({ documents, signing }: SessionState): string {
  if (signing.kind === 'bare') return JSON.stringify({ documents, bare: { algorithm: signing.algorithm } });
  const { signatures, signer } = signing;
  const { format, algorithm, level } = signatures;
  const prepared = signatures.prepared.map(({ digest, needsContent, state }) => ({ digest: base64(digest), needsContent, state }));
  const chain = { certificate: base64(signer.certificate.der), issuers: signer.issuers.map(base64) };
  return JSON.stringify({ documents, prepared: { format, algorithm, level, ...chain, documents: prepared } });
}

/** @throws {Error} where the text is not one that `sessionText` wrote */
export function sessionState(text: string): SessionState {
  const { documents: stored, bare, prepared } = Stored.parse(JSON.parse(text));
  const documents = stored.map(({ id, fileName, contentBytes }) => ({ id, fileName, contentBytes }));
  if (prepared === undefined) return { documents, signing: { kind: 'bare', algorithm: bare?.algorithm } };
  const { format, algorithm, level, issuers } = prepared;
  const certificate = readCertificate(prepared.certificate);
  const publicKey = readPublicKey(certificate.subjectPublicKeyInfo);
  const each = prepared.documents.map(({ digest, needsContent, state }) => ({
    digest,
    algorithm,
    dataToSign: undefined,
    needsContent,
    state,
  }));
  return {
    documents,
    signing: { kind: 'prepared', signatures: { format, algorithm, level, prepared: each }, signer: { certificate, publicKey, issuers } },
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
