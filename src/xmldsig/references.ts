import { createHash } from 'node:crypto';
import { keepsComments, type Canonicalisation } from '../xml/canonicalisation.ts';
import type { XmlNode } from '../xml/engine.ts';
import type { CanonicalRequest, NodeSet } from '../xml/tree-canonical.ts';
import type { XmlDocument } from '../xml/xml-document.ts';
import type { StepBudget } from '../xml/step-budget.ts';
import { XmlFault, XmlLimitFault } from '../xml/xml-fault.ts';
import { filterNodes } from '../xml/xpath.ts';
import type { HashName } from '../token/signature-algorithm.ts';
import { elementsWithId } from './ids.ts';
import type { ElementName, Transform } from './transforms.ts';

/** The signed part of a reference: what it selects, and how that becomes octets. */
export interface ReferencedData {
  /** URI attribute; undefined if there is none. */
  readonly uri: string | undefined;
  readonly transforms: readonly Transform[];
}

/** Where references are resolved. */
export interface ReferenceContext {
  readonly document: XmlDocument;
  /**
   * The signature, for the enveloped-signature transform; undefined if it is not in the document.
   */
  readonly signature: XmlNode | undefined;
  /** The work that references may cost together. */
  readonly budget: StepBudget;
}

/** Thrown for a reference that this service cannot resolve: it may be right. */
export class ReferenceUnknown extends Error {}

/** Thrown for a reference that selects nothing, or more than one element. */
export class ReferenceBroken extends Error {
  readonly found: 'none' | 'several';

  constructor(message: string, found: 'none' | 'several') {
    super(message);
    this.found = found;
  }
}

/**
 * Returns the request for the octets of a same-document reference (XML Signature §4.4.3.2,
 * §4.4.3.3).
 * @throws {ReferenceUnknown} for another URI, and transforms that are not supported
 * @throws {ReferenceBroken} if the element does not exist, or exists twice
 * @throws {XmlFault} from XPath
 */
export function canonicalRequest({ uri, transforms }: ReferencedData, context: ReferenceContext): CanonicalRequest {
  const { document, signature, budget } = context;
  const { apex, withComments } = selected(uri, document, budget);
  const without: XmlNode[] = [];
  const nodes: NodeSet[] = [];
  const isOutermost = (element: XmlNode): boolean => !without.includes(element);
  const addLeftOut = ({ names, xpath }: Transform & { kind: 'WITHOUT' }): void => {
    const elements = elementsNamed(document, names);
    if (elements.length <= leftOutMax) for (const element of elements) if (isOutermost(element)) without.push(element);
    if (elements.length <= leftOutMax) return;
    if (xpath === undefined) throw new XmlLimitFault(`a signature leaves out more than ${leftOutMax} elements`);
    nodes.push(filterNodes(xpath, document, budget));
  };
  let canonical: (Transform & { kind: 'CANONICAL' }) | undefined;
  for (const transform of transforms) {
    if (canonical !== undefined) throw new ReferenceUnknown('a transform after a canonicalisation is not supported');
    switch (transform.kind) {
      case 'ENVELOPED':
        if (signature !== undefined && isOutermost(signature)) without.push(signature);
        break;
      case 'WITHOUT':
        addLeftOut(transform);
        break;
      case 'XPATH':
        nodes.push(filterNodes(transform.xpath, document, budget));
        break;
      case 'CANONICAL':
        canonical = transform;
        break;
      case 'BASE64':
      case 'OTHER':
        throw new ReferenceUnknown(`the transform ${transform.kind === 'OTHER' ? transform.uri : 'base64'} is not supported`);
    }
  }
  // Octets are needed, and there is no other algorithm (§4.4.3.2).
  const { algorithm = 'C14N', inclusivePrefixes } = canonical ?? {};
  return { algorithm: withComments ? algorithm : commentless(algorithm), inclusivePrefixes, apex, without, nodes };
}

/** Returns the digest of a same-document reference. @throws as `canonicalRequest` */
export function referenceDigest(data: ReferencedData, hash: HashName, context: ReferenceContext): Buffer {
  return context.document.withMarks(() => requestDigest(canonicalRequest(data, context), hash, context));
}

/** Returns the digest of what a request selects. @throws {XmlFault} if it has no canonical form */
export function requestDigest(
  request: CanonicalRequest,
  hash: HashName,
  { document, budget }: Pick<ReferenceContext, 'document' | 'budget'>,
): Buffer {
  const digest = createHash(hash);
  document.canonicalise(request, (bytes) => {
    budget.spendOctets(bytes.length);
    digest.update(bytes);
  });
  // Not before: libxml2 must return.
  budget.check();
  return digest.digest();
}

/** Checks whether a reference selects any node. @throws as `canonicalRequest` */
export function selectsNothing({ apex, without = [], nodes = [] }: CanonicalRequest, document: XmlDocument): boolean {
  const top = apex ?? document.root;
  return without.some((element) => document.isWithin(top, element)) || nodes.some(({ isEmpty }) => isEmpty);
}

function selected(
  uri: string | undefined,
  document: XmlDocument,
  budget: StepBudget,
): { readonly apex: XmlNode | undefined; readonly withComments: boolean } {
  if (uri === '') return { apex: undefined, withComments: false };
  if (uri === '#xpointer(/)') return { apex: undefined, withComments: true };
  const id = uri?.startsWith('#') === true ? uri.slice(1) : undefined;
  if (id === undefined) throw new ReferenceUnknown('the URI names another resource');
  const [, , pointed] = /^xpointer\(id\((['"])([^'"]*)\1\)\)$/.exec(id) ?? [];
  const elements = elementsWithId(document, pointed ?? id, budget);
  const [apex, ...others] = elements;
  if (apex === undefined || others.length > 0)
    throw new ReferenceBroken(
      apex === undefined ? 'a reference names an element that does not exist' : 'a reference names an Id that several elements have',
      apex === undefined ? 'none' : 'several',
    );
  return { apex, withComments: pointed !== undefined };
}

/** Elements that a filter leaves out: signatures, or what a caller calls so. */
const leftOutMax = 1000;

/**
 * Returns the elements with one of these names, except those within others; one more than the limit
 * at most.
 */
export function elementsNamed(document: XmlDocument, names: readonly ElementName[]): XmlNode[] {
  const found: XmlNode[] = [];
  if (!names.some(({ localName }) => document.mentions(localName))) return found;
  for (const element of document.elements()) {
    const localName = document.localName(element);
    if (!names.some((name) => name.localName === localName && name.namespace === document.namespace(element))) continue;
    if (found.length > leftOutMax) break;
    const last = found.at(-1);
    if (last === undefined || !document.isWithin(element, last)) found.push(element);
  }
  return found;
}

function commentless(algorithm: Canonicalisation): Canonicalisation {
  // The names differ in this ending alone.
  return keepsComments(algorithm) ? (algorithm.replace('_WITH_COMMENTS', '') as Canonicalisation) : algorithm;
}

/** Reports whether an error is that of one reference, and not a defect. */
export function isReferenceError(error: unknown): error is Error {
  return error instanceof ReferenceUnknown || error instanceof ReferenceBroken || error instanceof XmlFault;
}
