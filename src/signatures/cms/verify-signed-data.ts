import { createHash, type KeyObject } from 'node:crypto';
import { windowsBetween } from '../../asn1/byte-source.ts';
import type { Certificate } from '../../x509/certificate.ts';
import type { Content, OpenFile, SignedFile } from '../../documents/content.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { signatureAlgorithmIdentifier } from '../../cms/algorithm-identifier.ts';
import { contentSource } from '../content-source.ts';
import { readSignedData, type ReadSignedData } from '../../cms/read-signed-data.ts';
import { attributeValues, readSignerInfo } from '../../cms/read-signer-info.ts';
import { checkSignerInfo } from '../../cms/verify-signer-info.ts';
import { oids } from '../../asn1/object-identifiers.ts';

export interface ExpectedSignature {
  readonly algorithm: SignatureAlgorithm;
  readonly certificate: Certificate;
  readonly publicKey: KeyObject;
  readonly contentType: string;
  readonly contentDigest: Uint8Array;
  readonly detached: boolean;
  /** The new signature, as it stands in the result. */
  readonly signerInfo: Uint8Array;
  /** Parts of the existing signatures that the result must contain. */
  readonly earlier: Pick<ReadSignedData, 'certificates' | 'revocationData' | 'signerInfos'> | undefined;
}

/**
 * Parses a finished SignedData and checks it before delivery: content digest, message-digest, the
 * certificate that signing-certificate-v2 binds, the value over the signed attributes, and that
 * nothing of earlier signatures is lost. A file in it is not read: it was hashed during preparation
 * and is hashed again on delivery.
 * @throws {Error} if a check fails
 */
export function verifySignedData(pieces: readonly Content[], expected: ExpectedSignature): void {
  const { algorithm, contentDigest, certificate, earlier } = expected;
  const result = readSignedData(contentSource(pieces));
  must((result.content === undefined) === expected.detached, 'has content although it is detached, or has none although it is attached');
  must(result.contentType === expected.contentType, 'has another content type');
  must(result.content === undefined || holdsContent(pieces, result.content, expected), 'contains other content than it signs');
  must(has(result.certificates, [certificate.der]), 'lacks the signer certificate');
  must(has(result.signerInfos, [expected.signerInfo]), 'lacks the new signature');
  must(
    earlier === undefined ||
      (has(result.certificates, earlier.certificates) &&
        has(result.revocationData, earlier.revocationData) &&
        has(result.signerInfos, earlier.signerInfos) &&
        result.signerInfos.length === earlier.signerInfos.length + 1),
    'lacks parts of the existing signatures',
  );
  const info = readSignerInfo(expected.signerInfo);
  must(same(info.signatureAlgorithm.raw, signatureAlgorithmIdentifier(algorithm)), 'names another algorithm');
  must(
    info.signedAttributes !== undefined && attributeValues(info.signedAttributes, oids.signingCertificateV2).length === 1,
    'binds no certificate',
  );
  checkSignerInfo(info, { contentType: expected.contentType, digestBy: () => contentDigest }, certificate, expected.publicKey);
}

/** Checks the content by the digest computed from its file during preparation, or by hashing it. */
function holdsContent(
  pieces: readonly Content[],
  spans: NonNullable<ReadSignedData['content']>,
  { algorithm, contentDigest }: ExpectedSignature,
): boolean {
  const files: (OpenFile & Partial<SignedFile>)[] = pieces.flatMap((piece) => (piece instanceof Uint8Array ? [] : [piece]));
  const [file] = files;
  if (file !== undefined) {
    const [span, ...others] = spans;
    // Everything but the content is in memory, so a file is the whole content or no part of it.
    const isAll = others.length === 0 && span !== undefined && span.end - span.start === file.bytes && files.length === 1;
    return isAll && file.digest?.hash === algorithm.hash && same(file.digest.value, contentDigest);
  }
  const hash = createHash(algorithm.hash);
  const source = contentSource(pieces);
  for (const { start, end } of spans) for (const part of windowsBetween(source, start, end)) hash.update(part);
  return hash.digest().equals(contentDigest);
}

function has(elements: readonly Uint8Array[], wanted: readonly Uint8Array[]): boolean {
  return wanted.every((one) => elements.some((other) => same(one, other)));
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

function must(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(`the signature ${otherwise}`);
}
