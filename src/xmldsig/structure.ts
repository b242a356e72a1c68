import type { XmlNode } from '../xml/engine.ts';
import type { XmlDocument } from '../xml/xml-document.ts';
import { quoted } from '../xml/xml-fault.ts';
import { dsNamespace } from './algorithm-uris.ts';
import type { ReadSignature } from './read-signature.ts';

/** An element of XML Signature at its place in another one. Default: exactly one. */
interface Particle {
  readonly name: string;
  readonly isOptional?: true;
  readonly isRepeated?: true;
}

/** What elements of a signature contain, in this order (schema of XML Signature, §4). */
const contents = {
  signature: [
    { name: 'SignedInfo' },
    { name: 'SignatureValue' },
    { name: 'KeyInfo', isOptional: true },
    { name: 'Object', isOptional: true, isRepeated: true },
  ],
  signedInfo: [{ name: 'CanonicalizationMethod' }, { name: 'SignatureMethod' }, { name: 'Reference', isRepeated: true }],
  reference: [{ name: 'Transforms', isOptional: true }, { name: 'DigestMethod' }, { name: 'DigestValue' }],
} as const satisfies Record<string, readonly Particle[]>;

const base64Names: ReadonlySet<string> = new Set(['SignatureValue', 'DigestValue', 'X509Certificate']);

/**
 * Returns where a signature is built in another way than its schema says, as the end of a sentence:
 * readers that find two elements of one kind, or base64 with other characters, differ in what they
 * take. Undefined if it is built so.
 */
export function structureFault(document: XmlDocument, { element, signedInfo, signatureValue, keyInfo }: ReadSignature): string | undefined {
  const references = document.children(signedInfo).filter((child) => document.is(child, dsNamespace, 'Reference'));
  const data = keyInfo === undefined ? [] : document.children(keyInfo).flatMap((child) => document.children(child));
  return (
    contentsFault(document, element, contents.signature) ??
    contentsFault(document, signedInfo, contents.signedInfo) ??
    firstOf(references, (reference) => contentsFault(document, reference, contents.reference)) ??
    firstOf([signatureValue, ...references.flatMap((reference) => document.children(reference)), ...data], (one) =>
      base64Fault(document, one),
    )
  );
}

function contentsFault(document: XmlDocument, element: XmlNode, particles: readonly Particle[]): string | undefined {
  const children = document.children(element);
  let at = 0;
  for (const { name, isOptional = false, isRepeated = false } of particles) {
    const start = at;
    const end = Math.min(children.length, isRepeated ? children.length : start + 1);
    while (at < end && isNamed(document, children[at], name)) at += 1;
    if (at === start && !isOptional) return `lacks the element ${name} in its place`;
  }
  const [other] = children.slice(at);
  return other === undefined ? undefined : `has the element ${quoted(document.localName(other))} in the wrong place`;
}

function base64Fault(document: XmlDocument, element: XmlNode): string | undefined {
  const name = document.localName(element);
  if (!base64Names.has(name)) return undefined;
  const text = document.text(element).replaceAll(/[ \t\r\n]/g, '');
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? undefined : `has text in ${name} that is not base64`;
}

function isNamed(document: XmlDocument, element: XmlNode | undefined, name: string): boolean {
  return element !== undefined && document.is(element, dsNamespace, name);
}

function firstOf(elements: readonly XmlNode[], faultOf: (element: XmlNode) => string | undefined): string | undefined {
  for (const element of elements) {
    const fault = faultOf(element);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
