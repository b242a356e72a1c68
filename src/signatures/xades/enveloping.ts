import { createHash } from 'node:crypto';
import type { InputDocument } from '../../documents/document.ts';
import { Fault } from '../../faults.ts';
import { keepsComments, type Canonicalisation } from '../../xml/canonicalisation.ts';
import { decodeXml } from '../../xml/encoding.ts';
import { checkNamespaceLoad } from '../../xml/namespace-load.ts';
import { XmlDocument } from '../../xml/xml-document.ts';
import { XmlFault } from '../../xml/xml-fault.ts';
import { startTag } from '../../xml/xml-text.ts';
import { dsNamespace, transformUris } from '../../xmldsig/algorithm-uris.ts';
import { oneForEach, type SignatureFormat } from '../format.ts';
import { canonicalTransform, composeSignature, objectType, rootTags, signatureParts } from './signature-text.ts';
import { unsignedProperties } from './unsigned-properties.ts';
import { verifyXades } from './verify-xades.ts';
import { signatureIds, type XadesParameters } from './xades-parameters.ts';
import { preparedXades, type XadesState } from './xades-state.ts';
import { xadesWorkload } from './xades-workload.ts';
import { checkNamespaces, checkTextEncoding, contentBytesOf, contentOf, fileDigest, parsedXml, refusingXml, scanned } from './xml-input.ts';

/** State between the two steps. */
export interface EnvelopingState extends XadesState {
  /** Start tag of the ds:Object with the document. */
  readonly objectStart: string;
  /** Whether the document is in it as XML, and not as base64. */
  readonly isXml: boolean;
}

const objectEnd = '</ds:Object>';
const usualMimeType = 'application/octet-stream';

/** XAdES that contains the signed document in a ds:Object (XML Signature §2.1, §4.5). */
export const envelopingFormat: SignatureFormat<XadesParameters, EnvelopingState> = {
  workload: () => xadesWorkload(),
  completion: () => xadesWorkload(),

  prepare(documents, parameters, chain, { now }) {
    if (chain === undefined) throw new Error('a XAdES signature binds the certificate of its signer');
    const { canonicalisation, algorithm } = parameters;
    return oneForEach(documents, (input, index) => {
      const content = contentOf(input);
      const at = `/inputDocuments/${index}`;
      const bytes = refusingXml(() => contentBytesOf(content), at);
      const ids = signatureIds(parameters, index);
      const xml = refusingXml(() => asXml(bytes, input), at);
      const mimeType = input.mimeType ?? (xml === undefined ? usualMimeType : 'text/xml');
      const objectId = `object-${ids.reference}`;
      const encoding = xml === undefined ? transformUris.base64 : undefined;
      const objectStart = startTag('ds:Object', { Encoding: encoding, Id: objectId, MimeType: mimeType });
      const object = { start: objectStart, content: xml ?? base64(bytes), end: objectEnd };
      const digest = refusingXml(() => objectDigest(object, rootTags({ parameters, ids }), canonicalisation.contents, algorithm.hash), at);
      // A bare fragment selects no comments (XML Signature §4.4.3.3).
      const uri = keepsComments(canonicalisation.contents) ? `#xpointer(id('${objectId}'))` : `#${objectId}`;
      const composed = composeSignature({
        ...{ parameters, ids, chain, now, around: [] },
        references: [
          {
            id: `${ids.reference}-0`,
            uri,
            type: objectType,
            transforms: [canonicalTransform(canonicalisation.contents)],
            digest,
            mimeType,
          },
        ],
      });
      const references = [{ uri, digest: digest.toString('base64') }];
      const { state, ...prepared } = preparedXades(composed, { parameters, ids, references, contents: [content] });
      return {
        ...fileDigest(content, bytes),
        signature: {
          ...prepared,
          state: { ...state, objectStart, isXml: xml !== undefined },
        },
      };
    });
  },

  complete({ contents: [content], state }, value, signing, additions) {
    if (signing === undefined) throw new Error('a XAdES signature binds the certificate of its signer');
    if (content === undefined) throw new Error('the prepared content is missing');
    const bytes = contentBytesOf(content);
    const { start, end } = signatureParts(state.text, value, unsignedProperties(state, additions));
    const inside = state.isXml ? asXml(bytes) : base64(bytes);
    if (inside === undefined) throw new Fault('CONTENT_CHANGED');
    const pieces = [Buffer.from(`${start}${state.objectStart}`), inside, Buffer.from(`${objectEnd}${end}`)];
    using result = parsedXml(Buffer.concat(pieces));
    verifyXades(result, { signatureId: state.signatureId, signing, value, references: state.references });
    return { content: pieces, mimeType: 'application/xml', ending: '.xml' };
  },
};

interface ObjectParts {
  readonly start: string;
  readonly content: Uint8Array;
  readonly end: string;
}

/** Returns the digest of the canonical ds:Object in the signature. */
function objectDigest(
  object: ObjectParts,
  root: { readonly start: string; readonly end: string },
  algorithm: Canonicalisation,
  hash: XadesParameters['algorithm']['hash'],
): Buffer {
  using document = XmlDocument.parse(
    Buffer.concat([Buffer.from(`${root.start}${object.start}`), object.content, Buffer.from(`${object.end}${root.end}`)]),
  );
  checkNamespaceLoad(document, [algorithm]);
  const digest = createHash(hash);
  const apex = document.child(document.root, dsNamespace, 'Object');
  document.canonicalise({ algorithm, apex }, (piece) => digest.update(piece));
  return digest.digest();
}

/**
 * Returns the document as it can stand in an element: UTF-8 without XML declaration. Undefined if
 * it is no XML, has a DOCTYPE, which cannot stand there, or a namespace that implementations
 * canonicalise differently. `input`: the document of a request whose bytes they are.
 * @throws {Refusal} FIELDS_INCONSISTENT
 */
function asXml(bytes: Uint8Array, input?: InputDocument): Uint8Array | undefined {
  try {
    const decoded = decodeXml(bytes);
    if (input !== undefined) checkTextEncoding(input, decoded);
    const { utf8 } = decoded;
    scanned(utf8);
    using document = XmlDocument.parse(utf8);
    checkNamespaces({ utf8 }, document);
    return withoutDeclaration(utf8);
  } catch (error) {
    if (error instanceof XmlFault) return undefined;
    throw error;
  }
}

function withoutDeclaration(utf8: Uint8Array): Uint8Array {
  const buffer = Buffer.from(utf8.buffer, utf8.byteOffset, utf8.length);
  return /^<\?xml[ \t\r\n]/.test(buffer.toString('latin1', 0, 6)) ? utf8.subarray(buffer.indexOf('?>') + 2) : utf8;
}

function base64(bytes: Uint8Array): Buffer {
  return Buffer.from(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'), 'latin1');
}
