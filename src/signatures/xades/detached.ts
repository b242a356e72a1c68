import { createHash } from 'node:crypto';
import { contentBytes, type Content, type SignedFile } from '../../documents/content.ts';
import type { Evidence, InputDocument } from '../../documents/document.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import type { Canonicalisation } from '../../xml/canonicalisation.ts';
import { checkNamespaceLoad } from '../../xml/namespace-load.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import { XmlFault } from '../../xml/xml-fault.ts';
import { endTag } from '../../xml/xml-text.ts';
import { hashContent } from '../content-source.ts';
import { unlessChanged, usualWorkload, type Prepared, type SignatureFormat } from '../format.ts';
import { asicRootTag, checkContainer, containerEvidence, isAsic, type ContainerRules } from './container.ts';
import { dataNames, type DataName } from './data-names.ts';
import { composeManifest, verifyManifest } from './manifest.ts';
import { canonicalTransform, composeSignature, signatureParts, type DataReference } from './signature-text.ts';
import { unsignedProperties } from './unsigned-properties.ts';
import { verifyXades } from './verify-xades.ts';
import { signatureIds, type XadesParameters } from './xades-parameters.ts';
import { preparedXades, type ExpectedReference, type XadesState } from './xades-state.ts';
import { xadesWorkload } from './xades-workload.ts';
import { checkNamespaces, checkTextEncoding, contentOf, parsedXml, refusingXml, xmlInput } from './xml-input.ts';

/** One signature over all documents of a request, outside of them. */
export interface DetachedParameters extends XadesParameters {
  /**
   * Canonicalisation of documents that are XML; undefined: all documents are signed as they are.
   */
  readonly documentCanonicalisation: Canonicalisation | undefined;
  readonly template: string | undefined;
  readonly directory: string | undefined;
  /** Undefined: the signature alone. */
  readonly container: ContainerRules | undefined;
  readonly hasManifest: boolean;
  /** Whether the documents are needed again, for an archive time-stamp. */
  readonly keepsContents: boolean;
  /** JSON Pointer of the member that these parameters come from. */
  readonly at: string;
}

/** A signed file between the two steps, without its content. */
interface DetachedFile {
  readonly name: string;
  readonly mimeType: string;
  /** Digest of its bytes, base64. */
  readonly digest: string;
  readonly reference: ExpectedReference;
}

/** State between the two steps. */
export interface DetachedState extends XadesState {
  readonly files: readonly DetachedFile[];
  /** Hash of the files' digests. */
  readonly hash: HashName;
  readonly container: ContainerRules | null;
  /** Time of the entries of a container, milliseconds since the epoch. */
  readonly modifiedMs: number;
  /** ds:Object with the manifest, if there is one. */
  readonly objects: string;
  /** Documents that are XML are canonicalised, also for an archive time-stamp. */
  readonly isCanonical: boolean;
}

const usualMimeType = 'application/octet-stream';
const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** Detached XAdES (XML Signature §2.1), alone or in a ZIP or ASiC-E container (EN 319 162-1). */
export const detachedFormat: SignatureFormat<DetachedParameters, DetachedState> = {
  workload: ({ documentCanonicalisation }) => (documentCanonicalisation === undefined ? usualWorkload : xadesWorkload()),
  completion: ({ isCanonical }) => (isCanonical ? xadesWorkload() : usualWorkload),

  prepare(documents, parameters, chain, { now }) {
    if (chain === undefined) throw new Error('a XAdES signature binds the certificate of its signer');
    const { container, hasManifest, algorithm, seed, at, template, directory } = parameters;
    const names = dataNames(documents, { template, directory, isPacked: container !== undefined, seed, now, at });
    if (container !== undefined)
      checkContainer(
        container,
        documents.map((one, index) => ({ name: names[index]?.name ?? '', bytes: contentBytes(contentOf(one)) })),
        at,
      );
    const ids = signatureIds(parameters, 0);
    const signed = documents.map((document, index) =>
      unlessChanged(index, () =>
        refusingXml(() => signedFile(document, names[index], { id: `${ids.reference}-${index}`, parameters }), `/inputDocuments/${index}`),
      ),
    );
    const around = container !== undefined && isAsic(container) ? [asicRootTag] : [];
    const data = signed.map(({ reference }) => reference);
    const manifest = hasManifest ? composeManifest(data, { parameters, ids, around }) : undefined;
    const references = manifest === undefined ? data : [manifest.reference];
    const composed = composeSignature({ ...{ parameters, ids, chain, now, around }, references });
    const files = signed.map(({ file }) => file);
    const { state, ...prepared } = preparedXades(composed, {
      ...{ parameters, ids },
      references: references.map(({ uri, digest }) => ({ uri, digest: Buffer.from(digest).toString('base64') })),
      contents: container !== undefined || parameters.keepsContents ? documents.map(contentOf) : [],
    });
    const signature: Omit<Prepared<DetachedState>, 'id' | 'covers'> = {
      ...prepared,
      state: {
        ...state,
        files,
        hash: algorithm.hash,
        container: container ?? null,
        modifiedMs: now.getTime(),
        objects: manifest?.object ?? '',
        isCanonical: parameters.documentCanonicalisation !== undefined,
      },
    };
    const covers = files.map(({ digest: value }, index) => ({
      index,
      digest: { hash: algorithm.hash, value: Buffer.from(value, 'base64') },
    }));
    return [{ id: documents[0]?.id ?? '', covers, ...signature }];
  },

  complete({ contents, state }, value, signing, additions) {
    if (signing === undefined) throw new Error('a XAdES signature binds the certificate of its signer');
    const xml = signatureFile(state, value, additions);
    using result = parsedXml(xml);
    const signature = verifyXades(result, { signatureId: state.signatureId, signing, value, references: state.references });
    if (state.objects !== '')
      verifyManifest(
        result,
        signature,
        state.files.map(({ reference }) => reference),
      );
    return evidenceOf(state, contents, xml);
  },
};

/** Returns the file with the signature. */
export function signatureFile(state: DetachedState, value: Uint8Array, additions: Parameters<typeof unsignedProperties>[1]): Buffer {
  const { start, end } = signatureParts(state.text, value, unsignedProperties(state, additions));
  const signature = `${start}${state.objects}${end}`;
  const inAsic = state.container !== null && isAsic(state.container);
  return Buffer.from(`${declaration}${inAsic ? `${asicRootTag}${signature}${endTag('asic:XAdESSignatures')}` : signature}`);
}

function evidenceOf({ container, files, hash, modifiedMs }: DetachedState, contents: readonly Content[], signature: Buffer): Evidence {
  if (container === null) return { content: [signature], mimeType: 'application/xml', ending: '.xml' };
  const data = files.map(({ name, mimeType, digest }, index) => {
    const content = contents[index];
    if (content === undefined) throw new Error('the prepared content is missing');
    return { name, mimeType, content: unchanged(content, hash, Buffer.from(digest, 'base64')) };
  });
  return containerEvidence(container, data, signature, new Date(modifiedMs));
}

/** Returns content that is compared with its digest: a file on delivery. */
function unchanged(content: Content, hash: HashName, digest: Buffer): Uint8Array | SignedFile {
  if (!(content instanceof Uint8Array)) return { ...content, digest: { hash, value: digest } };
  if (!hashContent(hash, content).equals(digest)) throw new Error('the content is not the signed one');
  return content;
}

/**
 * Hashes a document.
 * @throws {Refusal} UNSUPPORTED for XML that is too large to be canonicalised
 */
function signedFile(
  document: InputDocument,
  dataName: DataName | undefined,
  { id, parameters }: { readonly id: string; readonly parameters: DetachedParameters },
): { readonly file: DetachedFile; readonly reference: DataReference } {
  if (dataName === undefined) throw new RangeError('each document has a name');
  const { name, uri } = dataName;
  const { documentCanonicalisation, algorithm } = parameters;
  const content = contentOf(document);
  const digest = hashContent(algorithm.hash, content);
  const canonical =
    documentCanonicalisation === undefined ? undefined : canonicalDigest(document, documentCanonicalisation, algorithm.hash);
  const mimeType = document.mimeType ?? (canonical === undefined ? usualMimeType : 'text/xml');
  const transforms =
    canonical === undefined || documentCanonicalisation === undefined ? [] : [canonicalTransform(documentCanonicalisation)];
  const signedDigest = canonical ?? digest;
  return {
    file: { name, mimeType, digest: digest.toString('base64'), reference: { uri, digest: signedDigest.toString('base64') } },
    reference: { id, uri, transforms, digest: signedDigest, mimeType },
  };
}

/**
 * Returns the digest of the canonical form; undefined for a document that is not XML.
 * @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED
 */
function canonicalDigest(input: InputDocument, algorithm: Canonicalisation, hash: HashName): Buffer | undefined {
  const digest = createHash(hash);
  try {
    const xml = xmlInput(contentOf(input));
    checkTextEncoding(input, xml);
    using document: XmlDocument = parsedXml(xml.bytes);
    checkNamespaces(xml, document);
    checkNamespaceLoad(document, [algorithm]);
    document.canonicalise({ algorithm }, (piece) => digest.update(piece));
    return digest.digest();
  } catch (error) {
    if (error instanceof XmlFault) return undefined;
    throw error;
  }
}
