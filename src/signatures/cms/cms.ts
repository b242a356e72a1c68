import { createHash } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import type { SignatureFormat } from '../format.ts';
import { ecdsaValueToDer } from '../signature-value.ts';
import { signedAttributes } from './signed-attributes.ts';
import { signedData } from './signed-data.ts';
import { verifySignedData } from './verify-signed-data.ts';

export interface CmsParameters {
  readonly algorithm: SignatureAlgorithm;
  readonly detached: boolean;
}

/** Attributes (base64 of their DER), and the content where it goes into the signature. */
export interface CmsState {
  readonly signedAttributes: readonly string[];
  readonly contentDigest: string;
  readonly attachedContent: Uint8Array | undefined;
  readonly detached: boolean;
}

/** CAdES baseline B (EN 319 122-1), attached or detached. */
export const cmsFormat: SignatureFormat<CmsParameters, CmsState> = {
  prepare({ source }, { algorithm, detached }, { certificate }, { now }) {
    if (!('content' in source)) throw new Error('a CMS signature needs content');
    const contentDigest = createHash(algorithm.hash).update(source.content).digest();
    const attributes = signedAttributes({ contentDigest, certificate, hash: algorithm.hash, signingTime: now });
    const dataToSign = der.setOf(attributes);
    return {
      digest: createHash(algorithm.hash).update(dataToSign).digest(),
      algorithm,
      dataToSign,
      state: {
        signedAttributes: attributes.map((attribute) => Buffer.from(attribute).toString('base64')),
        contentDigest: contentDigest.toString('base64'),
        attachedContent: detached ? undefined : source.content,
        detached,
      },
    };
  },

  complete({ algorithm, state }, value, { certificate, issuers, publicKey }) {
    const content = signedData({
      algorithm,
      content: state.attachedContent,
      signer: certificate,
      issuers: issuers.slice(0, -1),
      signedAttributes: state.signedAttributes.map((attribute) => Buffer.from(attribute, 'base64')),
      signatureValue: algorithm.scheme === 'ECDSA' ? ecdsaValueToDer(value) : value,
    });
    verifySignedData(content, {
      algorithm,
      certificate,
      publicKey,
      contentDigest: Buffer.from(state.contentDigest, 'base64'),
      detached: state.detached,
    });
    return state.detached
      ? { content, mimeType: 'application/pkcs7-signature', ending: '.p7s' }
      : { content, mimeType: 'application/pkcs7-mime', ending: '.p7m' };
  },
};
