import { createHash } from 'node:crypto';
import { withoutRoot } from '../../certificates/chains.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import { canonicalisationUris, type Canonicalisation } from '../../xml/canonicalisation.ts';
import { inContext } from '../../xml/insertion.ts';
import { XmlDocument } from '../../xml/xml-document.ts';
import { characters, element, endTag, startTag } from '../../xml/xml-text.ts';
import { digestUris, dsNamespace, signatureMethodUri, transformUris } from '../../xmldsig/algorithm-uris.ts';
import type { SignerChain } from '../format.ts';
import { signedPropertiesText } from './signed-properties-text.ts';
import type { SignatureIds, XadesParameters } from './xades-parameters.ts';
import { stampedCanonicalisation, xadesVersions } from './xades-version.ts';

/** A Reference to signed data, ready to be written. */
export interface DataReference {
  readonly id: string;
  readonly uri: string;
  readonly type?: string | undefined;
  /** Transform elements. */
  readonly transforms: readonly string[];
  readonly digest: Uint8Array;
  /** Media type of the data. */
  readonly mimeType: string;
}

export interface SignatureTask {
  readonly parameters: XadesParameters;
  readonly ids: SignatureIds;
  readonly chain: SignerChain;
  readonly now: Date;
  readonly references: readonly DataReference[];
  /** Start tags of the elements around the signature, from the root down. */
  readonly around: readonly string[];
}

/**
 * A signature without its value and its unsigned properties, which come between the texts. ASCII.
 */
export interface SignatureText {
  readonly beforeValue: string;
  readonly beforeUnsigned: string;
  readonly afterUnsigned: string;
  /** What ends the signature; more ds:Object elements may come before. */
  readonly end: string;
}

/** The text of a signature, and the octets that are signed. */
export interface ComposedSignature {
  readonly text: SignatureText;
  /** Canonical SignedInfo (XML Signature §4.4). */
  readonly signedInfo: Buffer;
  /** Start tag of the canonical SignatureValue, which a time-stamp covers. */
  readonly valueTag: string;
}

/** Types of references (XML Signature §4.5, §5.1). */
export const objectType = `${dsNamespace}Object`;
export const manifestType = `${dsNamespace}Manifest`;

/** Prefix of a root element that the caller names. */
export const rootPrefix = 'sig';

/**
 * Writes a XAdES signature (EN 319 132-1 §6.3 baseline B; XML Signature §4): SignedInfo, value,
 * KeyInfo with the certificates and the qualifying properties.
 */
export function composeSignature(task: SignatureTask): ComposedSignature {
  const { parameters, ids, chain, around } = task;
  const { version, prefix, canonicalisation } = parameters;
  const root = rootTags(task);
  const qualifying = {
    start: startTag(`${prefix}:QualifyingProperties`, {
      [`xmlns:${prefix}`]: xadesVersions[version].namespace,
      Target: `#${ids.signature}`,
    }),
    end: endTag(`${prefix}:QualifyingProperties`),
  };
  const properties = signedPropertiesOf(task);
  const inRoot = (content: string): string => inContext(around, `${root.start}${content}${root.end}`);
  const propertiesInPlace = inRoot(`<ds:Object>${qualifying.start}${properties}${qualifying.end}</ds:Object>`);
  const [propertiesOctets = Buffer.alloc(0)] = canonicalAt(propertiesInPlace, around.length, [
    { path: [0, 0, 0], algorithm: canonicalisation.properties },
  ]);
  const { hash } = parameters.algorithm;
  const signedInfo = signedInfoText(task, createHash(hash).update(propertiesOctets).digest());
  const certificates = [chain.certificate.der, ...withoutRoot(chain.issuers)].map((one) =>
    element('ds:X509Certificate', {}, Buffer.from(one).toString('base64')),
  );
  const valueStart = startTag('ds:SignatureValue', { Id: ids.signatureValue });
  const valueEnd = endTag('ds:SignatureValue');
  const [signedInfoOctets = Buffer.alloc(0), emptyValue = Buffer.alloc(0)] = canonicalAt(
    inRoot(`${signedInfo}${valueStart}${valueEnd}`),
    around.length,
    [
      { path: [0], algorithm: canonicalisation.signedInfo },
      { path: [1], algorithm: stampedCanonicalisation(version) },
    ],
  );
  return {
    signedInfo: signedInfoOctets,
    valueTag: emptyValue.toString().slice(0, -valueEnd.length),
    text: {
      beforeValue: `${root.start}${signedInfo}${valueStart}`,
      beforeUnsigned: `${valueEnd}${element('ds:KeyInfo', {}, element('ds:X509Data', {}, ...certificates))}<ds:Object>${qualifying.start}${properties}`,
      afterUnsigned: `${qualifying.end}</ds:Object>`,
      end: root.end,
    },
  };
}

/**
 * Returns the text with its value. `unsigned`: UnsignedProperties, or nothing; `objects`: further
 * ds:Object elements.
 */
export function signatureParts(
  { beforeValue, beforeUnsigned, afterUnsigned, end }: SignatureText,
  value: Uint8Array,
  unsigned: string,
): { readonly start: string; readonly end: string } {
  return { start: `${beforeValue}${Buffer.from(value).toString('base64')}${beforeUnsigned}${unsigned}${afterUnsigned}`, end };
}

/** Returns the tags of the signature element. */
export function rootTags({ parameters: { root }, ids }: Pick<SignatureTask, 'parameters' | 'ids'>): {
  readonly start: string;
  readonly end: string;
} {
  const attributes = { 'xmlns:ds': dsNamespace, Id: ids.signature };
  if (root === undefined) return { start: startTag('ds:Signature', attributes), end: endTag('ds:Signature') };
  const { namespace, localName } = root;
  // Without a namespace, a default namespace around it must not reach it.
  if (namespace === undefined) return { start: startTag(localName, { xmlns: '', ...attributes }), end: endTag(localName) };
  const name = `${rootPrefix}:${localName}`;
  return { start: startTag(name, { [`xmlns:${rootPrefix}`]: namespace, ...attributes }), end: endTag(name) };
}

function signedPropertiesOf({ parameters, ids, chain, now, references }: SignatureTask): string {
  const { version, prefix, properties, algorithm } = parameters;
  return signedPropertiesText({
    ...{ version, prefix, properties, now },
    id: ids.signedProperties,
    certificate: chain.certificate,
    hash: algorithm.hash,
    dataObjects: references.map(({ id, mimeType }) => ({ referenceId: id, mimeType })),
  });
}

function signedInfoText({ parameters, ids, references }: SignatureTask, propertiesDigest: Uint8Array): string {
  const { algorithm, canonicalisation, version } = parameters;
  const { hash } = algorithm;
  const ofProperties = reference(hash, {
    uri: `#${ids.signedProperties}`,
    type: xadesVersions[version].signedPropertiesType,
    transforms: [canonicalTransform(canonicalisation.properties)],
    digest: propertiesDigest,
  });
  return element(
    'ds:SignedInfo',
    {},
    element('ds:CanonicalizationMethod', { Algorithm: canonicalisationUris[canonicalisation.signedInfo] }),
    element('ds:SignatureMethod', { Algorithm: signatureMethodUri(algorithm) }),
    ...references.map((one) => reference(hash, one)),
    ofProperties,
  );
}

/** Returns a Reference (XML Signature §4.4.3). */
export function reference(
  hash: HashName,
  { id, uri, type, transforms, digest }: Omit<DataReference, 'id' | 'mimeType'> & { readonly id?: string },
): string {
  return element(
    'ds:Reference',
    { Id: id, Type: type, URI: uri },
    transforms.length === 0 ? '' : element('ds:Transforms', {}, ...transforms),
    element('ds:DigestMethod', { Algorithm: digestUris[hash] }),
    element('ds:DigestValue', {}, Buffer.from(digest).toString('base64')),
  );
}

export function canonicalTransform(algorithm: Canonicalisation): string {
  return element('ds:Transform', { Algorithm: canonicalisationUris[algorithm] });
}

/** Returns an XPath filter. `namespaces`: the prefixes of the expression. */
export function xpathTransform(expression: string, namespaces: Readonly<Record<string, string>>): string {
  const declared = Object.fromEntries(Object.entries(namespaces).map(([prefix, uri]) => [`xmlns:${prefix}`, uri]));
  return element('ds:Transform', { Algorithm: transformUris.xpath }, element('ds:XPath', declared, characters(expression)));
}

/**
 * An element in a small document: `path` is its place among its siblings on each level, from the
 * root of the signature down.
 */
interface PlacedElement {
  readonly path: readonly number[];
  readonly algorithm: Canonicalisation;
}

/**
 * Returns the canonical forms of elements of a signature. `depth`: number of elements around it.
 */
function canonicalAt(text: string, depth: number, elements: readonly PlacedElement[]): Buffer[] {
  using document = XmlDocument.parse(Buffer.from(text));
  return elements.map(({ path, algorithm }) => {
    let apex = document.root;
    for (const index of [...Array.from({ length: depth }, () => 0), ...path]) {
      const child = document.children(apex)[index];
      if (child === undefined) throw new RangeError('the element is not in the text');
      apex = child;
    }
    return document.canonical({ algorithm, apex });
  });
}
