import { createHash } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import { withoutRoot } from '../../certificates/chains.ts';
import type { Content, SignedFile } from '../../documents/content.ts';
import { bigContentBytes } from '../../documents/big-content.ts';
import { Fault } from '../../faults.ts';
import type { InputDocument } from '../../documents/document.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { hashAlgorithmIdentifier } from '../../cms/algorithm-identifier.ts';
import { obsoleteNotice, oneForEach, refusingAt, type Prepared, type SignatureFormat } from '../format.ts';
import { hashContent } from '../content-source.ts';
import { signatureValueOf } from '../signature-value.ts';
import type { SignedProperties } from '../request/signed-properties.ts';
import { checkEarlierSignatures, earlierSignatures, type EarlierSignatures } from './earlier-signatures.ts';
import { signedAttributes } from '../cades/signed-attributes.ts';
import { addedParts, withUnsignedAttributes } from '../cades/level-attributes.ts';
import { inOrder, setWith, signedData, signerInfo } from '../../cms/signed-data.ts';
import { areLight } from '../../x509/certificate-load.ts';
import { verifySignedData } from './verify-signed-data.ts';

export interface CmsParameters {
  readonly algorithm: SignatureAlgorithm;
  readonly detached: boolean;
  readonly properties: SignedProperties;
  /**
   * How a document that is itself a SignedData with content is signed, if the signature is
   * attached: as plain content (`NEVER`), or by adding the new signature to the existing ones,
   * which are not checked (`UNCHECKED`) or verified first (`CHECKED`).
   */
  readonly coSigning: 'NEVER' | 'UNCHECKED' | 'CHECKED';
}

/** State between the two steps, with bytes in base64. */
export interface CmsState {
  readonly signedAttributes: readonly string[];
  readonly contentType: string;
  readonly contentDigest: string;
  readonly detached: boolean;
  /** Digest of everything in the document except its content; null if it is not co-signed. */
  readonly earlierDigest: string | null;
}

/** Co-signing parses untrusted input: even a small document can hold many signatures. */
const coSignedThreadBytes = 4 * 1024;

/**
 * CAdES baseline B (EN 319 122-1), attached or detached, as the first signature or added to others.
 */
export const cmsFormat: SignatureFormat<CmsParameters, CmsState> = {
  workload: ({ coSigning }) =>
    coSigning === 'CHECKED'
      ? { threadBeyondBytes: coSignedThreadBytes, lane: 'parsing' }
      : { threadBeyondBytes: bigContentBytes, lane: coSigning === 'NEVER' ? 'hashing' : 'parsing' },

  // Content is read once more, and a signed document was written by strangers.
  completion: ({ earlierDigest }) => ({
    ...{ threadBeyondBytes: bigContentBytes, lane: 'parsing' },
    // Its certificates are parsed with those of the new signature.
    ...(earlierDigest === null ? {} : { isRisky: (content) => !areLight([content]) }),
  }),

  prepare(documents, { algorithm, detached, properties, coSigning }, chain, { now, mustBeQuick = false }) {
    if (chain === undefined) throw new Error('a CMS signature binds the certificate of its signer');
    const { hash } = algorithm;
    return oneForEach(documents, ({ source }, index) => {
      const content = contentOf(source);
      const at = `/inputDocuments/${index}`;
      const earlier =
        detached || coSigning === 'NEVER'
          ? undefined
          : refusingAt(at, () => earlierSignatures(content, { hash, toCheck: coSigning === 'CHECKED' }));
      const obsolete =
        earlier !== undefined && coSigning === 'CHECKED' ? refusingAt(at, () => checkEarlierSignatures(earlier, { mustBeQuick })) : [];
      const contentDigest = earlier === undefined ? hashContent(hash, content) : earlier.digestBy(hash);
      const contentType = earlier?.contentType ?? oids.data;
      const attributes = signedAttributes({ contentType, contentDigest, certificate: chain.certificate, hash, now, properties });
      const dataToSign = der.setOf(attributes);
      const signature = {
        hash,
        digest: createHash(hash).update(dataToSign).digest(),
        dataToSign,
        contents: detached ? [] : [content],
        notice: obsoleteNotice(obsolete),
        state: {
          signedAttributes: attributes.map((attribute) => Buffer.from(attribute).toString('base64')),
          contentType,
          contentDigest: Buffer.from(contentDigest).toString('base64'),
          detached,
          earlierDigest: earlier?.partsDigest ?? null,
        },
      };
      return earlier === undefined ? { signature, documentDigest: { hash, value: contentDigest } } : { signature };
    });
  },

  complete({ contents, state }, value, signing, additions) {
    if (signing === undefined) throw new Error('a CMS signature binds the certificate of its signer');
    const { algorithm, chain } = signing;
    const { certificate, issuers, publicKey } = chain;
    const { detached, contentType } = state;
    const contentDigest = Buffer.from(state.contentDigest, 'base64');
    const earlier = state.earlierDigest === null ? undefined : sameEarlier(onlyContent(contents), state.earlierDigest);
    const baseline = signerInfo({
      algorithm,
      signer: certificate,
      signedAttributes: state.signedAttributes.map((attribute) => Buffer.from(attribute, 'base64')),
      signatureValue: signatureValueOf(algorithm, value),
    });
    const added = addedParts(additions);
    const signature = withUnsignedAttributes(baseline, added.unsignedAttributes);
    const pieces = signedData({
      digestAlgorithms: earlier?.knowsDigest(algorithm.hash)
        ? earlier.digestAlgorithms
        : setWith(earlier?.digestAlgorithms ?? [], [hashAlgorithmIdentifier(algorithm.hash)]),
      contentType,
      content: detached
        ? undefined
        : (earlier?.content ?? [onlyContent(contents)]).map((content) => signed(content, algorithm, contentDigest)),
      // The root is left out: the verifier has it.
      certificates: setWith(setWith(earlier?.certificates ?? [], [certificate.der, ...withoutRoot(issuers)]), added.certificates),
      revocationData: setWith(earlier?.revocationData ?? [], added.revocationData),
      signerInfos: inOrder([...(earlier?.signerInfos ?? []), signature]),
    });
    verifySignedData(pieces, { algorithm, certificate, publicKey, contentType, contentDigest, detached, signerInfo: signature, earlier });
    return detached
      ? { content: pieces, mimeType: 'application/pkcs7-signature', ending: '.p7s' }
      : { content: pieces, mimeType: 'application/pkcs7-mime', ending: '.p7m' };
  },
};

function contentOf(source: InputDocument['source']): Content {
  if (!('content' in source)) throw new Error('a CMS signature needs the content');
  return source.content;
}

function onlyContent([content]: Prepared<CmsState>['contents']): Content {
  if (content === undefined) throw new Error('the prepared content is missing');
  return content;
}

/** Reads the prepared document again. @throws {Fault} CONTENT_CHANGED if it has changed */
function sameEarlier(content: Content, digest: string): EarlierSignatures {
  const earlier = earlierSignatures(content);
  if (earlier?.partsDigest !== digest) throw new Fault('CONTENT_CHANGED');
  return earlier;
}

/** Adds the signed digest to a file, which is compared with its content on delivery. */
function signed(content: Content, { hash }: SignatureAlgorithm, digest: Uint8Array): Content {
  if (content instanceof Uint8Array) return content;
  if (content.bytes === 0) return new Uint8Array();
  const file: SignedFile = { ...content, digest: { hash, value: digest } };
  return file;
}
