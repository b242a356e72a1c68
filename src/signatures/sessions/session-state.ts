import { z } from 'zod';
import { type Content, contentBytes } from '../../documents/content.ts';
import { hashNames, type HashName, type SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { readPublicKey } from '../../verification/public-key.ts';
import { readCertificate } from '../../x509/certificate.ts';
import type { CoveredDocument, Prepared, SignerChain } from '../format.ts';
import { formatNames, type FormatName } from '../formats.ts';
import { AskedLevel } from '../levels/asked-level.ts';
import type { PreparedSignatures } from '../signatures.ts';

/** ID and file name of a signed document. */
export interface SessionDocument {
  readonly id: string;
  readonly fileName: string | undefined;
}

/** State that remotePreSign stores for remoteSign. */
export interface SessionState {
  readonly documents: readonly SessionDocument[];
  readonly signatures: PreparedSignatures;
}

/** A session as read back; the contents of its signatures are stored separately. */
export interface StoredState {
  readonly documents: readonly SessionDocument[];
  readonly signatures: Omit<PreparedSignatures, 'prepared'> & { readonly prepared: readonly StoredSignature[] };
}

/** A prepared signature without its contents. */
export interface StoredSignature extends Omit<Prepared<unknown>, 'contents'> {
  /** Sizes of the contents. */
  readonly contentBytes: readonly number[];
}

const Bytes = z.base64().transform((text): Uint8Array => Buffer.from(text, 'base64'));
const Hash: z.ZodType<HashName> = z.enum(hashNames);
const Algorithm: z.ZodType<SignatureAlgorithm> = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: z.literal('RSA_PKCS1'), hash: Hash }),
  z.strictObject({ scheme: z.literal('RSA_PSS'), hash: Hash, mgfHash: Hash, saltBytes: z.int() }),
  z.strictObject({ scheme: z.literal('ECDSA'), hash: Hash }),
]);
const Format: z.ZodType<FormatName> = z.enum(formatNames);
const Stored = z.strictObject({
  documents: z.array(z.strictObject({ id: z.string(), fileName: z.string().optional() })),
  format: Format,
  algorithm: Algorithm.optional(),
  level: AskedLevel.optional(),
  // Sessions of versions without text evidence lack it.
  isText: z.boolean().default(false),
  signer: z.strictObject({ certificate: Bytes, issuers: z.array(Bytes) }).optional(),
  signatures: z.array(
    z.strictObject({
      id: z.string(),
      covers: z.array(z.int()),
      hash: Hash,
      digest: Bytes,
      contentBytes: z.array(z.int()),
      state: z.unknown(),
    }),
  ),
});

/** Returns the contents needed for completion, in the order in which they are stored. */
export function sessionContents({ signatures }: SessionState): readonly Content[] {
  return signatures.prepared.flatMap(({ contents }) => contents);
}

/** Returns a session as it is stored, before it is encrypted. */
export function sessionText({ documents, signatures }: SessionState): string {
  const { format, algorithm, level, chain, isText, prepared } = signatures;
  const stored: z.input<typeof Stored> = {
    documents: documents.map(({ id, fileName }) => ({ id, fileName })),
    ...{ format, algorithm, level, isText },
    signer: chain === undefined ? undefined : { certificate: base64(chain.certificate.der), issuers: chain.issuers.map(base64) },
    signatures: prepared.map(({ id, covers, hash, digest, contents, state }) => ({
      ...{ id, hash, state },
      covers: covers.map(({ index }) => index),
      digest: base64(digest),
      contentBytes: contents.map(contentBytes),
    })),
  };
  return JSON.stringify(stored);
}

/** Reads what `sessionText` wrote. @throws {Error} if the text has another form */
export function storedState(text: string): StoredState {
  const { documents, format, algorithm, level, isText, signer, signatures } = Stored.parse(JSON.parse(text));
  const prepared = signatures.map(({ covers, ...signature }) => ({
    ...signature,
    covers: covers.map((index): CoveredDocument => ({ index })),
    dataToSign: undefined,
  }));
  return {
    documents: documents.map(({ id, fileName }) => ({ id, fileName })),
    signatures: { format, algorithm, level, isText, chain: signer === undefined ? undefined : chainOf(signer), prepared },
  };
}

function chainOf({
  certificate: der,
  issuers,
}: {
  readonly certificate: Uint8Array;
  readonly issuers: readonly Uint8Array[];
}): SignerChain {
  const certificate = readCertificate(der);
  return { certificate, publicKey: readPublicKey(certificate.subjectPublicKeyInfo), issuers };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
