import { createHash, type KeyObject } from 'node:crypto';
import { DerError } from '../../asn1/reader.ts';
import { Refusal } from '../../result-codes.ts';
import { hasSoundExponent, readPublicKey } from '../../verification/public-key.ts';
import { obsoleteIn, strengthFault } from '../../verification/signature-strength.ts';
import { valueVerifies } from '../../verification/verify-value.ts';
import { readCertificate, type Certificate } from '../../x509/certificate.ts';
import type { XmlNode } from '../../xml/engine.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import { quoted, XmlFault, XmlLimitFault } from '../../xml/xml-fault.ts';
import { XPathTooLarge } from '../../xml/xpath.ts';
import { dsNamespace } from '../../xmldsig/algorithm-uris.ts';
import { readSignature, type ReadReference, type ReadSignature } from '../../xmldsig/read-signature.ts';
import {
  canonicalRequest,
  isReferenceError,
  ReferenceBroken,
  ReferenceUnknown,
  requestDigest,
  type ReferenceContext,
} from '../../xmldsig/references.ts';
import { structureFault } from '../../xmldsig/structure.ts';
import { signatureName } from '../../xmldsig/transforms.ts';
import { signatureValueOf } from '../signature-value.ts';
import { boundCertificate, isStrayProperties, propertiesFault, signedPropertiesIn, xadesNamespaces } from './read-properties.ts';
import { earlierSteps } from './xml-input.ts';

/** The element of a signature may have any name (signatureElementName). */
export const signedInfoName = 'SignedInfo';

/** Verifying one takes up to milliseconds. */
const signaturesMax = 500;

/** A signature that was in the document before; undefined if it cannot be read. */
type Earlier = ReadSignature | undefined;

/** A document, and the work that all references of its signatures may cost together. */
type Limited = Pick<ReferenceContext, 'document' | 'budget'>;

/**
 * Whether each reference of each existing signature holds, in document order; references that this
 * service cannot resolve do not. Plain JSON.
 */
export type HoldingReferences = readonly (readonly boolean[])[];

/**
 * Reads the existing signatures of a document. `own`: one that is not among them.
 * @throws {Refusal} UNSUPPORTED if there are more than in any legitimate document
 */
function signaturesIn(document: XmlDocument, own: string | undefined): Earlier[] {
  const found: Earlier[] = [];
  if (!document.mentions(signedInfoName)) return found;
  for (const signedInfo of document.elements()) {
    if (!document.is(signedInfo, dsNamespace, signedInfoName)) continue;
    const element = document.parent(signedInfo);
    if (element === undefined || (own !== undefined && document.attribute(element, 'Id') === own)) continue;
    found.push(readable(document, element));
    if (found.length > signaturesMax)
      throw new Refusal('UNSUPPORTED', { message: `a document may have at most ${signaturesMax} signatures` });
  }
  return found;
}

function readable(document: XmlDocument, element: XmlNode): Earlier {
  try {
    return readSignature(document, element);
  } catch (error) {
    if (error instanceof XmlFault) return undefined;
    throw error;
  }
}

/**
 * Returns which references of the existing signatures hold. `own`: Id of a signature that is not
 * counted.
 * @throws {Refusal} UNSUPPORTED
 */
export function holdingReferences(document: XmlDocument, own?: string): HoldingReferences {
  const budget = earlierSteps(document.bytes);
  return signaturesIn(document, own).map(
    (signature) => signature?.references.map((reference) => faultOf({ document, budget }, signature, reference) === undefined) ?? [],
  );
}

/** Checks that each reference that held before still holds. */
export function stillHold(before: HoldingReferences, after: HoldingReferences): boolean {
  return (
    before.length === after.length &&
    before.every((references, index) => references.every((held, reference) => !held || after[index]?.[reference] === true))
  );
}

/**
 * Verifies every existing signature: what it references, its value and its certificate. Each
 * `ds:Signature` must be one, wherever it stands. Returns what is obsolete in them.
 * @throws {Refusal} EXISTING_SIGNATURE_INVALID, UNSUPPORTED
 */
export function checkEarlierSignatures(document: XmlDocument): readonly string[] {
  checkAllAreSignatures(document);
  const budget = earlierSteps(document.bytes);
  return signaturesIn(document, undefined).flatMap((signature, index) => {
    const found = signature === undefined ? { fault: 'cannot be read' } : checked({ document, budget }, signature);
    const name = signature?.id === undefined ? `signature ${index + 1}` : `the signature ${quoted(signature.id)}`;
    if (found.fault !== undefined) throw new Refusal('EXISTING_SIGNATURE_INVALID', { message: `${name} of the document ${found.fault}` });
    return found.obsolete === undefined ? [] : [`${name} ${found.obsolete}`];
  });
}

/**
 * Checks that each `ds:Signature` has a SignedInfo, so that it is among those that are verified.
 * The signatures of this service leave out every `ds:Signature`: what is in another would be signed
 * by nothing.
 * @throws {Refusal} EXISTING_SIGNATURE_INVALID
 */
function checkAllAreSignatures(document: XmlDocument): void {
  if (!document.mentions(signatureName.localName)) return;
  for (const element of document.elements()) {
    if (!document.is(element, dsNamespace, signatureName.localName)) continue;
    if (document.child(element, dsNamespace, signedInfoName) !== undefined) continue;
    throw new Refusal('EXISTING_SIGNATURE_INVALID', { message: 'the document has an element ds:Signature that is no signature' });
  }
}

/**
 * What is wrong with a signature, or obsolete in one that holds, as the end of a sentence; neither
 * if nothing is.
 */
interface Checked {
  readonly fault?: string | undefined;
  readonly obsolete?: string | undefined;
}

function checked({ document, budget }: Limited, signature: ReadSignature): Checked {
  const fault = signatureFault({ document, budget }, signature);
  if (fault !== undefined) return { fault };
  const { algorithm, references } = signature;
  const certificate = signerOf(document, signature);
  const key = certificate === undefined ? undefined : publicKeyOf(certificate);
  const hashes = [algorithm, ...references].flatMap((one) => one?.hash ?? []);
  return key === undefined ? {} : { obsolete: obsoleteIn(key, hashes) };
}

/** Returns what is wrong with a signature, as the end of a sentence; undefined if nothing is. */
function signatureFault({ document, budget }: Limited, signature: ReadSignature): string | undefined {
  const { references, algorithm, signedInfo: apex, signedInfoCanonicalisation: method, value } = signature;
  const misbuilt = structureFault(document, signature);
  if (misbuilt !== undefined) return misbuilt;
  for (const reference of references) {
    const fault = faultOf({ document, budget }, signature, reference);
    if (fault !== undefined) return fault;
  }
  const ofProperties = propertiesFault(document, signature);
  if (ofProperties !== undefined) return ofProperties;
  if (algorithm === undefined || method === undefined) return 'has an algorithm that this service does not know';
  const certificate = signerOf(document, signature);
  if (certificate === undefined) return 'contains no certificate that it binds';
  const octets = document.canonical({ algorithm: method.algorithm, inclusivePrefixes: method.inclusivePrefixes, apex });
  const digest = createHash(algorithm.hash).update(octets).digest();
  if (algorithm.scheme === 'ECDSA' && (value.length === 0 || value.length % 2 !== 0)) return 'has a value of the wrong length';
  const key = publicKeyOf(certificate);
  if (key === undefined) return 'has a certificate with a key that this service cannot read';
  const weakness = strengthFault(key);
  if (weakness !== undefined) return weakness;
  if (!hasSoundExponent(key)) return 'is by an RSA key whose public exponent is not an odd number from 65537 on';
  return valueVerifies(key, algorithm, digest, signatureValueOf(algorithm, value)) ? undefined : 'does not verify under its certificate';
}

/**
 * Returns the certificate that the signed properties bind, or the first one where there are none.
 */
function signerOf(document: XmlDocument, signature: ReadSignature): Certificate | undefined {
  const properties = signedPropertiesIn(document, signature);
  const bound = properties === undefined ? undefined : boundCertificate(document, properties);
  const der = bound === undefined ? signature.certificates[0] : signature.certificates.find((one) => bound.isOf(one));
  try {
    return der === undefined ? undefined : readCertificate(der);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/** Returns the key of a certificate; undefined if OpenSSL cannot read it. */
function publicKeyOf({ subjectPublicKeyInfo }: Certificate): KeyObject | undefined {
  try {
    return readPublicKey(subjectPublicKeyInfo);
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

/**
 * Returns why a reference does not hold, as the end of a sentence; undefined if it holds.
 * @throws {Refusal} UNSUPPORTED where a limit is reached
 */
function faultOf({ document, budget }: Limited, signature: ReadSignature, reference: ReadReference): string | undefined {
  const { hash, digestMethod, digest, uri, type } = reference;
  const name = `the reference ${quoted(uri ?? '')}`;
  if (hash === undefined) return `has an unknown digest algorithm in ${name}: ${quoted(digestMethod)}`;
  const context = { document, signature: signature.element, budget };
  try {
    return document.withMarks(() => {
      const request = canonicalRequest(reference, context);
      if (isHidden(document, signature, request.apex))
        return `references an element within a signature, where readers of the document do not look for it: ${name}`;
      if (isStrayProperties(document, signature, { type, apex: request.apex }))
        return `references SignedProperties that are not in its QualifyingProperties: ${name}`;
      return requestDigest(request, hash, context).equals(digest) ? undefined : `does not fit the content of the document: ${name}`;
    });
  } catch (error) {
    // Whether such a reference holds is not known, and it must not be broken.
    if (error instanceof XmlLimitFault || error instanceof XPathTooLarge)
      throw new Refusal('UNSUPPORTED', {
        message: `an existing signature has a reference beyond a limit of this service: ${error.message}`,
        cause: error,
      });
    if (!isReferenceError(error)) throw error;
    if (error instanceof ReferenceUnknown) return `cannot be verified, ${name}: ${error.message}`;
    return error instanceof ReferenceBroken
      ? `is not unambiguous, ${name}: ${error.message}`
      : `cannot be verified, ${name}: ${error.message}`;
  }
}

/**
 * Checks whether the signed element is in a signature, where a reader of the document would not look
 * for it: signature wrapping moves signed elements there. The schema allows any element in many
 * places of a signature. What an enveloping signature signs is its ds:Object as a whole, and what is
 * in the ds:Object of a signature around the own one was moved with it.
 */
function isHidden(document: XmlDocument, { element: own }: ReadSignature, apex: XmlNode | undefined): boolean {
  for (let one = apex; one !== undefined; one = document.parent(one)) {
    const signature = document.parent(one);
    if (signature === undefined || document.child(signature, dsNamespace, signedInfoName) === undefined) continue;
    if (document.is(one, dsNamespace, 'Object') && document.isWithin(own, signature)) {
      if (signature !== own || one === apex || isOfSignatures(document, apex)) continue;
    } else if (one === apex && isSignedPart(document, one, signature === own)) continue;
    return true;
  }
  return false;
}

/** Whether it is a part of a signature that signatures do sign: a value, to countersign it, and their own KeyInfo. */
function isSignedPart(document: XmlDocument, element: XmlNode, isOwn: boolean): boolean {
  return document.is(element, dsNamespace, 'SignatureValue') || (isOwn && document.is(element, dsNamespace, 'KeyInfo'));
}

/** Whether it is an element of XML Signature or XAdES, such as a Manifest or SignedProperties. */
function isOfSignatures(document: XmlDocument, element: XmlNode | undefined): boolean {
  const namespace = element === undefined ? undefined : document.namespace(element);
  return namespace === dsNamespace || xadesNamespaces.has(namespace);
}
