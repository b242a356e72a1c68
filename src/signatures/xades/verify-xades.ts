import { createHash } from 'node:crypto';
import type { HashName } from '../../token/signature-algorithm.ts';
import { valueVerifies } from '../../verification/verify-value.ts';
import { StepBudget } from '../../xml/step-budget.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import { elementsWithId } from '../../xmldsig/ids.ts';
import { readSignature, type ReadReference, type ReadSignature } from '../../xmldsig/read-signature.ts';
import { referenceDigest } from '../../xmldsig/references.ts';
import { structureFault } from '../../xmldsig/structure.ts';
import type { Signing } from '../format.ts';
import { signatureValueOf } from '../signature-value.ts';
import { boundCertificate, signedPropertiesIn } from './read-properties.ts';
import type { ExpectedReference } from './xades-state.ts';
import { ownStepsMax } from './xml-input.ts';

/** A finished signature as it must be. */
export interface ExpectedSignature {
  readonly signatureId: string;
  readonly signing: Signing;
  /** As tokens return it. */
  readonly value: Uint8Array;
  readonly references: readonly ExpectedReference[];
}

/** Thrown if a reference to signed data does not hold. */
export class ContentNotCovered extends Error {}

/** Canonical octets of a finished signature in the document that leaves the service. */
export interface ResultOctets {
  readonly signedInfo: Uint8Array;
  /** Returns the digest of a reference to something in the document. */
  digestOf(reference: ReadReference, hash: HashName): Uint8Array;
}

/**
 * Checks a finished signature in the document that leaves the service.
 * @throws {Error} if a check fails
 */
export function verifyXades(document: XmlDocument, expected: ExpectedSignature): ReadSignature {
  const [element, ...others] = elementsWithId(document, expected.signatureId);
  must(element !== undefined && others.length === 0, 'is not in the result exactly once');
  const signature = readSignature(document, element);
  verifyReadSignature(document, signature, octetsIn(document, signature), expected);
  return signature;
}

/**
 * Checks a finished signature: its references, the value over its SignedInfo and the certificate
 * that it binds. `document`: contains the signature, but not necessarily all that it references.
 * @throws {Error} if a check fails
 */
export function verifyReadSignature(
  document: XmlDocument,
  signature: ReadSignature,
  octets: ResultOctets,
  { signing: { algorithm, chain }, value, references }: ExpectedSignature,
): void {
  const misbuilt = structureFault(document, signature);
  if (misbuilt !== undefined) throw new Error(`the signature ${misbuilt}`);
  must(JSON.stringify(signature.algorithm) === JSON.stringify(algorithm), 'names another algorithm');
  must(same(signature.value, value), 'has another value');
  const ofProperties = signature.references.at(-1);
  must(ofProperties !== undefined && signature.references.length === references.length + 1, 'has other references than were prepared');
  for (const [index, { uri, digest }] of references.entries()) {
    const reference = signature.references[index];
    must(reference?.uri === uri && same(reference.digest, Buffer.from(digest, 'base64')), 'has other references than were prepared');
    if (isInDocument(reference) && !holds(octets, reference))
      throw new ContentNotCovered('the signature does not cover the content of the result');
  }
  const properties = signedPropertiesIn(document, signature);
  must(properties !== undefined && ofProperties.uri === `#${document.attribute(properties, 'Id') ?? ''}`, 'does not sign its properties');
  must(holds(octets, ofProperties), 'has other properties than were signed');
  const digest = createHash(algorithm.hash).update(octets.signedInfo).digest();
  must(valueVerifies(chain.publicKey, algorithm, digest, signatureValueOf(algorithm, value)), 'does not verify');
  must(same(signature.certificates[0] ?? new Uint8Array(), chain.certificate.der), 'lacks the signer certificate');
  must(boundCertificate(document, properties)?.isOf(chain.certificate.der) === true, 'binds another certificate');
}

/** `budget`: the work that all references may cost together. */
export function octetsIn(document: XmlDocument, signature: ReadSignature, budget = new StepBudget(ownStepsMax)): ResultOctets {
  const { element, signedInfo: apex, signedInfoCanonicalisation: method } = signature;
  must(method !== undefined, 'names no known canonicalisation');
  return {
    signedInfo: document.canonical({ algorithm: method.algorithm, inclusivePrefixes: method.inclusivePrefixes, apex }),
    digestOf: (reference, hash) => referenceDigest(reference, hash, { document, signature: element, budget }),
  };
}

function isInDocument({ uri }: ReadReference): boolean {
  return uri === '' || uri?.startsWith('#') === true;
}

export function holds(octets: ResultOctets, reference: ReadReference): boolean {
  const { hash, digest } = reference;
  return hash !== undefined && same(octets.digestOf(reference, hash), digest);
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

export function must(holdsTrue: boolean, otherwise: string): asserts holdsTrue {
  if (!holdsTrue) throw new Error(`the signature ${otherwise}`);
}
