import { createHash } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import { withoutRoot } from '../../certificates/chains.ts';
import type { Content } from '../../documents/content.ts';
import type { SignedFile } from '../../documents/content-pieces.ts';
import { Fault } from '../../faults.ts';
import type { InputDocument } from '../../documents/document.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { hashAlgorithmIdentifier } from '../../cms/algorithm-identifier.ts';
import type { SignatureFormat } from '../format.ts';
import { hashContent } from '../hash-content.ts';
import { ecdsaValueToDer } from '../signature-value.ts';
import type { SignedProperties } from '../signed-properties.ts';
import { checkEarlierSignatures, earlierSignatures, type EarlierSignatures } from './earlier-signatures.ts';
import { signedAttributes } from './signed-attributes.ts';
import { noAdditions, withUnsignedAttributes } from './levels.ts';
import { inOrder, setWith, signedData, signerInfo } from '../../cms/signed-data.ts';
import { verifySignedData } from './verify-signed-data.ts';

export interface CmsParameters {
  readonly algorithm: SignatureAlgorithm;
  readonly detached: boolean;
  readonly properties: SignedProperties;
  /**
   * What becomes of an attached signature's document that is a SignedData with content itself: it is content like any other (`NEVER`), or the new signature stands beside
   * those that it has, which are not looked at (`UNCHECKED`), or verified first (`CHECKED`).
   */
  readonly coSigning: 'NEVER' | 'UNCHECKED' | 'CHECKED';
}

/** Bytes in base64. */
export interface CmsState {
  readonly signedAttributes: readonly string[];
  readonly contentType: string;
  readonly contentDigest: string;
  readonly detached: boolean;
  /** Of all that the document has beside its content; null where it is not co-signed. */
  readonly earlierDigest: string | null;
}

/** CAdES baseline B (EN 319 122-1), attached or detached, as the first signature or beside others. */
export const cmsFormat: SignatureFormat<CmsParameters, CmsState> = {
  prepare(document, { algorithm, detached, properties, coSigning }, { certificate }, { now }) {
    const content = contentOf(document);
    const { hash } = algorithm;
    const earlier = detached || coSigning === 'NEVER' ? undefined : earlierSignatures(content, { hash, toCheck: coSigning === 'CHECKED' });
    if (earlier !== undefined && coSigning === 'CHECKED') checkEarlierSignatures(earlier);
    const contentDigest = earlier === undefined ? hashContent(hash, content) : earlier.digestBy(hash);
    const contentType = earlier?.contentType ?? oids.data;
    const attributes = signedAttributes({ contentType, contentDigest, certificate, hash, now, properties });
    const dataToSign = der.setOf(attributes);
    return {
      digest: createHash(hash).update(dataToSign).digest(),
      algorithm,
      dataToSign,
      needsContent: !detached,
      state: {
        signedAttributes: attributes.map((attribute) => Buffer.from(attribute).toString('base64')),
        contentType,
        contentDigest: Buffer.from(contentDigest).toString('base64'),
        detached,
        earlierDigest: earlier?.partsDigest ?? null,
      },
      documentDigest: earlier === undefined ? { hash, value: contentDigest } : undefined,
    };
  },

  complete({ algorithm, state }, value, { certificate, issuers, publicKey }, document, additions = noAdditions) {
    const { detached, contentType } = state;
    const contentDigest = Buffer.from(state.contentDigest, 'base64');
    const earlier = state.earlierDigest === null ? undefined : sameEarlier(contentOf(document), state.earlierDigest);
    const baseline = signerInfo({
      algorithm,
      signer: certificate,
      signedAttributes: state.signedAttributes.map((attribute) => Buffer.from(attribute, 'base64')),
      signatureValue: algorithm.scheme === 'ECDSA' ? ecdsaValueToDer(value) : value,
    });
    const signature = withUnsignedAttributes(baseline, additions.unsignedAttributes);
    const pieces = signedData({
      digestAlgorithms: earlier?.knowsDigest(algorithm.hash)
        ? earlier.digestAlgorithms
        : setWith(earlier?.digestAlgorithms ?? [], [hashAlgorithmIdentifier(algorithm.hash)]),
      contentType,
      content: detached
        ? undefined
        : (earlier?.content ?? [contentOf(document)]).map((content) => signed(content, algorithm, contentDigest)),
      // The root is left out: who verifies has it.
      certificates: setWith(setWith(earlier?.certificates ?? [], [certificate.der, ...withoutRoot(issuers)]), additions.certificates),
      revocationData: setWith(earlier?.revocationData ?? [], additions.revocationData),
      signerInfos: inOrder([...(earlier?.signerInfos ?? []), signature]),
    });
    verifySignedData(pieces, { algorithm, certificate, publicKey, contentType, contentDigest, detached, signerInfo: signature, earlier });
    return detached
      ? { content: pieces, mimeType: 'application/pkcs7-signature', ending: '.p7s' }
      : { content: pieces, mimeType: 'application/pkcs7-mime', ending: '.p7m' };
  },
};

function contentOf(document: InputDocument | undefined): Content {
  if (document === undefined || !('content' in document.source)) throw new Error('a CMS signature needs the content');
  return document.source.content;
}

/** The document as it was prepared, read anew: a file may have changed since then. */
function sameEarlier(content: Content, digest: string): EarlierSignatures {
  const earlier = earlierSignatures(content);
  if (earlier?.partsDigest !== digest) throw new Fault('CONTENT_CHANGED');
  return earlier;
}

/** A file is hashed while it leaves: what it holds by then must be what was signed. */
function signed(content: Content, { hash }: SignatureAlgorithm, digest: Uint8Array): Content {
  if (content instanceof Uint8Array) return content;
  if (content.bytes === 0) return new Uint8Array();
  const file: SignedFile = { ...content, digest: { hash, value: digest } };
  return file;
}
