import { createHash } from 'node:crypto';
import type { HashName } from '../../token/signature-algorithm.ts';
import { valueVerifies } from '../../verification/verify-value.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import { elementsWithId } from '../../xmldsig/ids.ts';
import { readSignature, type ReadReference, type ReadSignature } from '../../xmldsig/read-signature.ts';
import { referenceDigest } from '../../xmldsig/references.ts';
import type { Signing } from '../format.ts';
import { signatureValueOf } from '../signature-value.ts';
import { boundCertificate, signedPropertiesIn } from './read-properties.ts';
import type { ExpectedReference } from './xades-state.ts';
import { xpathStepsMax } from './xml-input.ts';

/** A finished signature as it must be. */
export interface ExpectedSignature {
  readonly signatureId: string;
  readonly signing: Signing;
  /** As tokens return it. */
  readonly value: Uint8Array;
  readonly hash: HashName;
  readonly references: readonly ExpectedReference[];
}

/**
 * Checks a finished signature in the document that leaves the service: its references, the value
 * over its SignedInfo and the certificate that it binds.
 * @throws {Error} if a check fails
 */
export function verifyXades(document: XmlDocument, expected: ExpectedSignature): ReadSignature {
  const { signatureId, signing, value, references } = expected;
  const [element, ...others] = elementsWithId(document, signatureId);
  must(element !== undefined && others.length === 0, 'is not in the result exactly once');
  const signature = readSignature(document, element);
  const { algorithm, chain } = signing;
  must(JSON.stringify(signature.algorithm) === JSON.stringify(algorithm), 'names another algorithm');
  must(same(signature.value, value), 'has another value');
  const ofProperties = signature.references.at(-1);
  must(ofProperties !== undefined && signature.references.length === references.length + 1, 'has other references than were prepared');
  for (const [index, { uri, digest }] of references.entries()) {
    const reference = signature.references[index];
    must(reference?.uri === uri && same(reference.digest, Buffer.from(digest, 'base64')), 'has other references than were prepared');
    if (isInDocument(reference)) must(holds(document, signature, reference), 'does not cover the content of the result');
  }
  const properties = signedPropertiesIn(document, signature);
  must(properties !== undefined && ofProperties.uri === `#${document.attribute(properties, 'Id') ?? ''}`, 'does not sign its properties');
  must(holds(document, signature, ofProperties), 'has other properties than were signed');
  must(valueHolds(document, signature, signing), 'does not verify');
  must(same(signature.certificates[0] ?? new Uint8Array(), chain.certificate.der), 'lacks the signer certificate');
  must(boundCertificate(document, properties)?.isOf(chain.certificate.der) === true, 'binds another certificate');
  return signature;
}

/** Checks whether the value is the signature of the canonical SignedInfo. */
function valueHolds(document: XmlDocument, signature: ReadSignature, { algorithm, chain }: Signing): boolean {
  const { signedInfo: apex, signedInfoCanonicalisation: method, value } = signature;
  if (method === undefined) return false;
  const octets = document.canonical({ algorithm: method.algorithm, inclusivePrefixes: method.inclusivePrefixes, apex });
  const digest = createHash(algorithm.hash).update(octets).digest();
  return valueVerifies(chain.publicKey, algorithm, digest, signatureValueOf(algorithm, value));
}

function isInDocument({ uri }: ReadReference): boolean {
  return uri === '' || uri?.startsWith('#') === true;
}

function holds(document: XmlDocument, { element }: ReadSignature, reference: ReadReference): boolean {
  const { hash, digest } = reference;
  return hash !== undefined && same(referenceDigest(reference, hash, { document, signature: element, xpathStepsMax }), digest);
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

function must(holdsTrue: boolean, otherwise: string): asserts holdsTrue {
  if (!holdsTrue) throw new Error(`the signature ${otherwise}`);
}
