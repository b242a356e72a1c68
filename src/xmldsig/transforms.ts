import { canonicalisationOfUri, type Canonicalisation } from '../xml/canonicalisation.ts';
import type { XmlNode } from '../xml/engine.ts';
import type { XmlDocument } from '../xml/xml-document.ts';
import { isNcName } from '../xml/xml-text.ts';
import type { XPath } from '../xml/xpath.ts';
import { dsNamespace, transformUris } from './algorithm-uris.ts';

/** The name of an element; its namespace is undefined if it has none. */
export interface ElementName {
  readonly namespace: string | undefined;
  readonly localName: string;
}

/** A transform of a reference (XML Signature §6.6). */
export type Transform =
  | { readonly kind: 'ENVELOPED' }
  /** XPath filter that leaves out elements of these names with everything in them. */
  | {
      readonly kind: 'WITHOUT';
      readonly names: readonly ElementName[];
      /** The same as an expression. */ readonly xpath?: XPath | undefined;
    }
  | { readonly kind: 'XPATH'; readonly xpath: XPath }
  | { readonly kind: 'CANONICAL'; readonly algorithm: Canonicalisation; readonly inclusivePrefixes?: readonly string[] | undefined }
  | { readonly kind: 'BASE64' }
  /** One that this service does not know. */
  | { readonly kind: 'OTHER'; readonly uri: string };

/** The name of the signature element. */
export const signatureName: ElementName = { namespace: dsNamespace, localName: 'Signature' };

const exclusiveNamespace = 'http://www.w3.org/2001/10/xml-exc-c14n#';

/** Reads the Transforms of a Reference, in their order. */
export function readTransforms(document: XmlDocument, reference: XmlNode): Transform[] {
  const list = document.child(reference, dsNamespace, 'Transforms');
  return list === undefined ? [] : document.children(list).map((transform) => readTransform(document, transform));
}

function readTransform(document: XmlDocument, transform: XmlNode): Transform {
  const uri = document.attribute(transform, 'Algorithm') ?? '';
  if (uri === transformUris.enveloped) return { kind: 'ENVELOPED' };
  if (uri === transformUris.base64) return { kind: 'BASE64' };
  if (uri === transformUris.xpath) {
    const element = document.child(transform, dsNamespace, 'XPath');
    if (element === undefined) return { kind: 'OTHER', uri };
    const xpath: XPath = { expression: document.text(element).trim(), namespaces: document.prefixesAt(element) };
    const names = leftOutBy(xpath);
    return names === undefined ? { kind: 'XPATH', xpath } : { kind: 'WITHOUT', names, xpath };
  }
  return readCanonicalisation(document, transform) ?? { kind: 'OTHER', uri };
}

/**
 * Reads a Transform or a CanonicalizationMethod; undefined if it names no canonicalisation that
 * this service knows.
 */
export function readCanonicalisation(document: XmlDocument, method: XmlNode): (Transform & { kind: 'CANONICAL' }) | undefined {
  const algorithm = canonicalisationOfUri(document.attribute(method, 'Algorithm') ?? '');
  if (algorithm === undefined) return undefined;
  const inclusive = document.child(method, exclusiveNamespace, 'InclusiveNamespaces');
  const prefixes = inclusive === undefined ? undefined : document.attribute(inclusive, 'PrefixList');
  const inclusivePrefixes = prefixes === undefined ? undefined : [...new Set(prefixes.split(/[ \t\r\n]+/).filter((one) => one !== ''))];
  if (inclusivePrefixes !== undefined && inclusivePrefixes.length > inclusivePrefixesMax) return undefined;
  return { kind: 'CANONICAL', algorithm, inclusivePrefixes };
}

/**
 * Returns the expression that leaves out the subtrees of all elements with these names. A name with
 * a namespace uses the prefix at the same place of the list.
 */
export function withoutExpression(names: readonly { readonly prefix: string | undefined; readonly localName: string }[]): string {
  const steps = names.map(({ prefix, localName }) => `ancestor-or-self::${prefix === undefined ? '' : `${prefix}:`}${localName}`);
  return `not(${steps.join(' or ')})`;
}

/** Prefixes of InclusiveNamespaces; a document needs a few. */
const inclusivePrefixesMax = 1000;

/**
 * Reads an expression of `withoutExpression`, which needs no evaluation; undefined for any other.
 */
function leftOutBy({ expression, namespaces }: XPath): readonly ElementName[] | undefined {
  const inner = /^not[ \t\r\n]*\((.*)\)$/s.exec(expression)?.[1];
  // The steps, and `or` between them.
  const words = inner?.split(/[ \t\r\n]+/).filter((word) => word !== '');
  if (words === undefined || words.length % 2 === 0 || words.some((word, index) => index % 2 === 1 && word !== 'or')) return undefined;
  const steps = words.filter((_word, index) => index % 2 === 0);
  const names = steps.map((step): ElementName | undefined => {
    const [, prefix, localName] = /^ancestor-or-self::(?:([^:]+):)?([^:]+)$/.exec(step) ?? [];
    if (localName === undefined || ![prefix ?? localName, localName].every(isNcName)) return undefined;
    const namespace = prefix === undefined ? undefined : namespaces[prefix];
    return prefix !== undefined && namespace === undefined ? undefined : { namespace, localName };
  });
  return names.every((name) => name !== undefined) ? names : undefined;
}
