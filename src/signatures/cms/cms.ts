import { createHash } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import type { Content } from '../../documents/content.ts';
import type { SignedFile } from '../../documents/content-pieces.ts';
import type { DocumentDigest, InputDocument } from '../../documents/document.ts';
import { withoutRoot } from '../../certificates/chains.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { SignatureFormat } from '../format.ts';
import { hashContent } from '../hash-content.ts';
import { ecdsaValueToDer } from '../signature-value.ts';
import { signedAttributes } from './signed-attributes.ts';
import { signedData } from './signed-data.ts';
import { verifySignedData } from './verify-signed-data.ts';

export interface CmsParameters {
  readonly algorithm: SignatureAlgorithm;
  readonly detached: boolean;
}

/** Attributes and digest in base64. */
export interface CmsState {
  readonly signedAttributes: readonly string[];
  readonly contentDigest: string;
  readonly detached: boolean;
}

/** CAdES baseline B (EN 319 122-1), attached or detached. */
export const cmsFormat: SignatureFormat<CmsParameters, CmsState> = {
  prepare({ source }, { algorithm, detached }, { certificate }, { now }) {
    if (!('content' in source)) throw new Error('a CMS signature needs content');
    const contentDigest = hashContent(algorithm.hash, source.content);
    const attributes = signedAttributes({ contentDigest, certificate, hash: algorithm.hash, signingTime: now });
    const dataToSign = der.setOf(attributes);
    return {
      digest: createHash(algorithm.hash).update(dataToSign).digest(),
      algorithm,
      dataToSign,
      needsContent: !detached,
      state: {
        signedAttributes: attributes.map((attribute) => Buffer.from(attribute).toString('base64')),
        contentDigest: contentDigest.toString('base64'),
        detached,
      },
    };
  },

  complete({ algorithm, state }, value, { certificate, issuers, publicKey }, document) {
    const contentDigest = Buffer.from(state.contentDigest, 'base64');
    const pieces = signedData({
      algorithm,
      content: state.detached ? undefined : encapsulated(document, { hash: algorithm.hash, value: contentDigest }),
      signer: certificate,
      issuers: withoutRoot(issuers),
      signedAttributes: state.signedAttributes.map((attribute) => Buffer.from(attribute, 'base64')),
      signatureValue: algorithm.scheme === 'ECDSA' ? ecdsaValueToDer(value) : value,
    });
    verifySignedData(pieces, { algorithm, certificate, publicKey, contentDigest, detached: state.detached });
    return state.detached
      ? { content: pieces, mimeType: 'application/pkcs7-signature', ending: '.p7s' }
      : { content: pieces, mimeType: 'application/pkcs7-mime', ending: '.p7m' };
  },
};

/** A file is hashed while it leaves: what it holds by then must be what was signed. */
function encapsulated(document: InputDocument | undefined, digest: DocumentDigest): Content {
  if (document === undefined || !('content' in document.source)) throw new Error('an attached signature needs the content');
  const { content } = document.source;
  if (content instanceof Uint8Array) return content;
  const signed: SignedFile = { ...content, digest };
  return signed;
}
