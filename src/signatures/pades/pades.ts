import { createHash } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import { SignatureBroken } from '../../cms/verify-signer-info.ts';
import { contentBytes, type Content, type SignedFile } from '../../documents/content.ts';
import { PdfFault } from '../../pdf/pdf-fault.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { signedAttributes } from '../cades/signed-attributes.ts';
import { bytesOf, contentSource } from '../content-source.ts';
import { isAtLeast } from '../levels/level-writer.ts';
import { obsoleteNotice, oneForEach, type SignatureFormat, type Workload } from '../format.ts';
import { cmsRoomBytes, detachedCms } from './detached-cms.ts';
import { checkTokenSize } from './document-time-stamp.ts';
import { contentOf, openPdf, refusingPdf } from './pdf-input.ts';
import type { PadesParameters, PadesState } from './pades-state.ts';
import { coveredDigests, withContents, type ByteRange } from './signature-room.ts';
import { signatureRevision } from './signature-revision.ts';
import { validationDataOf, validationDataRevision } from './validation-data.ts';
import { checkAppended, checkEarlierSignatures, type AppendedOptions } from './verify/earlier-signatures.ts';
import { signaturesOf } from './verify/signatures-of.ts';
import { verifyPades } from './verify-pades.ts';
import { reasonOf } from './signature-dictionary.ts';
import type { SignedProperties } from '../request/signed-properties.ts';

/** Size up to which a PDF is read on the event loop. */
const quickMaxBytes = 256 * 1024;
/** Texts up to this length are drawn in some milliseconds. */
const quickTextCharacters = 200;
const inThread: Workload = { threadBeyondBytes: 0, lane: 'parsing' };
/**
 * A document takes about a millisecond, and some more if its signature is visible; it has two
 * contents in the second step.
 */
const usually: Workload = { threadBeyondBytes: quickMaxBytes, lane: 'parsing', documentsOnLoopMax: 6 };

/** A picture may be compressed a thousandfold. */
function isQuicklyDrawn({ visible, pageImage }: PadesParameters): boolean {
  return pageImage === undefined && visible?.image === undefined && (visible?.freeText ?? '').length <= quickTextCharacters;
}

/** PAdES (EN 319 142-1), as a revision that is appended to the document. */
export const padesFormat: SignatureFormat<PadesParameters, PadesState> = {
  // Verifying what strangers signed takes what they want it to take.
  workload: (parameters) => (isQuicklyDrawn(parameters) && !parameters.validates ? usually : inThread),
  completion: ({ isQuick }) => (isQuick ? usually : inThread),

  prepare(documents, parameters, chain, { now, mustBeQuick = false }) {
    if (chain === undefined) throw new Error('a PAdES signature binds the certificate of its signer');
    const { algorithm, properties, level } = parameters;
    const { hash } = algorithm;
    return oneForEach(documents, (document, index) => {
      const at = `/inputDocuments/${index}`;
      const content = contentOf(document);
      const file = openPdf(contentSource([content]), document.password, at, { mustBeQuick });
      const isSigned = refusingPdf(() => signaturesOf(file).length > 0, at);
      const check = (): readonly string[] => checkEarlierSignatures(contentSource([content]), document.password, at);
      const obsolete = parameters.validates ? refusingPdf(check, at) : [];
      const attributes = (contentDigest: Uint8Array): Uint8Array[] =>
        signedAttributes({
          ...{ contentType: oids.data, contentDigest, certificate: chain.certificate, hash, now },
          properties: attributeProperties(properties),
        });
      // A store that cannot be read is found before anything is signed.
      if (isAtLeast(level, 'LT')) refusingPdf(() => validationDataOf(file), at);
      const unsigned = attributes(createHash(hash).digest());
      const roomBytes = cmsRoomBytes({ algorithm, chain, signedAttributes: unsigned }, { withTimeStamp: level !== 'B' });
      const { revision, byteRange, fieldName } = refusingPdf(() => signatureRevision(file, { parameters, chain, now, roomBytes, at }), at);
      if (isSigned) refusingPdf(() => checkHarmless(content, revision, { password: document.password, mustBeQuick }), at);
      const digests = coveredDigests(hash, content, [revision], byteRange);
      const signedOnes = attributes(digests.value);
      const dataToSign = der.setOf(signedOnes);
      return {
        documentDigest: { hash, value: digests.ofContent },
        signature: {
          hash,
          digest: createHash(hash).update(dataToSign).digest(),
          dataToSign,
          contents: [content, revision],
          notice: obsoleteNotice(obsolete),
          readAgain: [{ content: 0, document: index, digest: { hash, value: digests.ofContent } }],
          state: {
            signedAttributes: signedOnes.map(base64),
            byteRange,
            coveredDigest: base64(digests.value),
            documentDigest: base64(digests.ofContent),
            fieldName,
            isBasic: parameters.isBasic,
            password: document.password ?? null,
            language: parameters.locale.language,
            isQuick: file.bytes.work.isQuick && !isSigned,
            isSigned,
          },
        },
      };
    });
  },

  complete({ contents, covers, state }, value, signing, additions) {
    if (signing === undefined) throw new Error('a PAdES signature binds the certificate of its signer');
    const [content, revision] = contents;
    if (content === undefined || revision === undefined) throw new Error('the prepared contents are missing');
    const { algorithm, chain } = signing;
    if (additions !== undefined) checkTokenSize(additions.timeStamp);
    const attributes = state.signedAttributes.map((one) => Buffer.from(one, 'base64'));
    const cms = detachedCms({ algorithm, chain, signedAttributes: attributes, value, timeStamp: additions?.timeStamp });
    const filled = withContents(bytesOf(revision), state.byteRange, contentBytes(content), cms);
    const pieces: Content[] = [signed(content, algorithm, Buffer.from(state.documentDigest, 'base64')), filled];
    const at = `/inputDocuments/${covers[0]?.index ?? 0}`;
    const password = state.password ?? undefined;
    // A damaged file can give an object of the revision a second meaning, and is not readable any
    // more.
    refusingPdf(() => {
      // The archive time-stamp comes with the validation data that it covers.
      if (additions?.archive !== undefined) pieces.push(additions.archive);
      else if (additions?.longTermData !== undefined)
        pieces.push(validationDataRevision(pieces, password, additions.longTermData, contentsOf(cms, state.byteRange)));
      verifyPades(pieces, { ...state, signing, cms });
      if (state.isSigned) checkAppended(contentSource([content]), contentSource(pieces), { password });
    }, at);
    return { content: pieces, mimeType: 'application/pdf', ending: '.pdf' };
  },
};

/**
 * Returns the properties that are signed attributes: the time, the place, and a reason by itself
 * are in the signature dictionary (EN 319 142-1 §6.3).
 */
function attributeProperties(properties: SignedProperties): SignedProperties {
  const isReason = reasonOf(properties) !== undefined;
  return { ...properties, signingTime: 'NONE', place: undefined, commitmentText: isReason ? undefined : properties.commitmentText };
}

/**
 * Checks that the revision changes nothing that an earlier signature forbids.
 * @throws {PdfFault} for a file in which it does: a reference that led to nothing can lead to one
 *   of the new objects
 * @throws {NotQuick}
 */
function checkHarmless(content: Content, revision: Uint8Array, options: AppendedOptions): void {
  try {
    checkAppended(contentSource([content]), contentSource([content, revision]), options);
  } catch (error) {
    if (!(error instanceof SignatureBroken)) throw error;
    throw new PdfFault(`an earlier signature of the document ${error.message}`, undefined, { cause: error });
  }
}

/** Returns the Contents of a signature: its encoding, and the zeros that fill its room. */
function contentsOf(cms: Uint8Array, [, start, end]: ByteRange): Uint8Array {
  const contents = new Uint8Array((end - start - 2) / 2);
  contents.set(cms);
  return contents;
}

/** Adds the digest to a file, which is compared with its content on delivery. */
function signed(content: Content, { hash }: SignatureAlgorithm, digest: Uint8Array): Content {
  if (content instanceof Uint8Array) return content;
  const file: SignedFile = { ...content, digest: { hash, value: digest } };
  return file;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
