import { z } from 'zod';
import { type Content, contentBytes, type DocumentDigest } from '../../documents/content.ts';
import type { DocumentOrigin, InputDocument } from '../../documents/document.ts';
import { hashNames, type HashName, type SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { readPublicKey } from '../../verification/public-key.ts';
import { readCertificate } from '../../x509/certificate.ts';
import type { CoveredDocument, Prepared, SignerChain, WholeDocument } from '../format.ts';
import { formatNames, type FormatName } from '../formats.ts';
import { AskedLevel } from '../levels/asked-level.ts';
import type { PreparedSignatures } from '../signatures.ts';

/** A signed document: its name, and where its content can be read again. */
export type SessionDocument = Pick<InputDocument, 'id' | 'fileName' | 'origin'>;

/** State that remotePreSign stores for remoteSign. */
export interface SessionState {
  readonly documents: readonly SessionDocument[];
  readonly signatures: PreparedSignatures;
}

/** A document whose content is not stored with the session. */
export interface DocumentToRead {
  readonly id: string;
  readonly origin: DocumentOrigin;
  readonly bytes: number;
  readonly digest: DocumentDigest;
}

/** A session as read back; the contents of its signatures are stored separately. */
export interface StoredState {
  readonly documents: readonly SessionDocument[];
  readonly signatures: Omit<PreparedSignatures, 'prepared'> & { readonly prepared: readonly StoredSignature[] };
}

/** A prepared signature without its contents. */
export interface StoredSignature extends Omit<Prepared<unknown>, 'contents' | 'readAgain'> {
  /** Sizes of the contents, including those of documents to be read again. */
  readonly contentBytes: readonly number[];
  /** The contents that are not stored. */
  readonly readAgain: readonly WholeDocument[];
}

const Bytes = z.base64().transform((text): Uint8Array => Buffer.from(text, 'base64'));
const Hash: z.ZodType<HashName> = z.enum(hashNames);
const Algorithm: z.ZodType<SignatureAlgorithm> = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: z.literal('RSA_PKCS1'), hash: Hash }),
  z.strictObject({ scheme: z.literal('RSA_PSS'), hash: Hash, mgfHash: Hash, saltBytes: z.int() }),
  z.strictObject({ scheme: z.literal('ECDSA'), hash: Hash }),
]);
const Origin = z.union([z.strictObject({ filePath: z.string() }), z.strictObject({ fileID: z.string() })]);
const Format: z.ZodType<FormatName> = z.enum(formatNames);
const Stored = z.strictObject({
  // Sessions of versions that stored all contents lack origins and `readAgain`.
  documents: z.array(z.strictObject({ id: z.string(), fileName: z.string().optional(), origin: Origin.optional() })),
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
      readAgain: z
        .array(z.strictObject({ content: z.int(), document: z.int(), digest: z.strictObject({ hash: Hash, value: Bytes }) }))
        .default([]),
      // Absent unless there is something to say, and in sessions of versions without it.
      notice: z.string().optional(),
      state: z.unknown(),
    }),
  ),
});

/** Returns the contents to be stored for completion, in their order. */
export function sessionContents({ documents, signatures }: SessionState): readonly Content[] {
  return signatures.prepared.flatMap(({ contents, readAgain }) => {
    const again = withOrigin(documents, readAgain);
    return contents.filter((_, index) => !again.some(({ content }) => content === index));
  });
}

/** Returns the contents whose documents can be read again. */
function withOrigin(documents: readonly SessionDocument[], readAgain: readonly WholeDocument[] = []): readonly WholeDocument[] {
  return readAgain.filter(({ document }) => documents[document]?.origin !== undefined);
}

/** Returns the documents to be read again, in the order of the contents of all signatures. */
export function documentsToRead({ documents, signatures }: StoredState): readonly DocumentToRead[] {
  return signatures.prepared.flatMap(({ contentBytes: sizes, readAgain }) =>
    readAgain
      .toSorted((one, other) => one.content - other.content)
      .map(({ content, document: index, digest }) => {
        const { id, origin } = documents[index] ?? {};
        const bytes = sizes[content];
        if (id === undefined || origin === undefined || bytes === undefined) throw new Error('a document to be read again is unknown');
        return { id, origin, bytes, digest };
      }),
  );
}

/** Returns a session as it is stored, before it is encrypted. */
export function sessionText({ documents, signatures }: SessionState): string {
  const { format, algorithm, level, chain, isText, prepared } = signatures;
  const stored: z.input<typeof Stored> = {
    documents: documents.map(({ id, fileName, origin }) => ({ id, fileName, origin })),
    ...{ format, algorithm, level, isText },
    signer: chain === undefined ? undefined : { certificate: base64(chain.certificate.der), issuers: chain.issuers.map(base64) },
    signatures: prepared.map(({ id, covers, hash, digest, contents, readAgain, notice, state }) => ({
      ...{ id, hash, notice, state },
      covers: covers.map(({ index }) => index),
      digest: base64(digest),
      contentBytes: contents.map(contentBytes),
      readAgain: withOrigin(documents, readAgain).map((one) => ({
        ...one,
        digest: { hash: one.digest.hash, value: base64(one.digest.value) },
      })),
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
    documents: documents.map(({ id, fileName, origin }) => ({ id, fileName, origin })),
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
