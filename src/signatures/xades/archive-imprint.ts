import { createHash, type Hash } from 'node:crypto';
import type { HashName } from '../../token/signature-algorithm.ts';
import type { Canonicalisation } from '../../xml/canonicalisation.ts';
import type { XmlNode } from '../../xml/engine.ts';
import { StepBudget } from '../../xml/step-budget.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import type { ReadReference, ReadSignature } from '../../xmldsig/read-signature.ts';
import { canonicalRequest } from '../../xmldsig/references.ts';
import { qualifyingPropertiesIn, unsignedPropertiesIn } from './read-properties.ts';
import { ownStepsMax } from './xml-input.ts';

/** Returns the octets of a reference to something outside the document of the signature. */
export type OutsideData = (reference: ReadReference) => Iterable<Uint8Array>;

/** Where an archive time-stamp ends: it covers the properties before it. */
export interface ArchiveTask {
  readonly document: XmlDocument;
  readonly signature: ReadSignature;
  readonly outside: OutsideData;
  readonly hash: HashName;
  /** Canonicalisation that the time-stamp names. */
  readonly algorithm: Canonicalisation;
  /** The time-stamp itself, if it is there already. */
  readonly until: XmlNode | undefined;
}

/**
 * Returns the message imprint of an ArchiveTimeStamp (EN 319 132-1 §5.5.2.2): the hash of all
 * referenced data, SignedInfo, SignatureValue, KeyInfo, the unsigned properties before it, and all
 * ds:Object elements but that with the qualifying properties, whether referenced or not.
 */
export function archiveImprint({ document, signature, outside, hash, algorithm, until }: ArchiveTask): Buffer {
  const digest = createHash(hash);
  const addElement = (apex: XmlNode): void => {
    document.canonicalise({ algorithm, apex }, (piece) => digest.update(piece));
  };
  const budget = new StepBudget(ownStepsMax);
  for (const reference of signature.references) addReferenced(digest, reference, { document, signature, outside, budget });
  addElement(signature.signedInfo);
  addElement(signature.signatureValue);
  if (signature.keyInfo !== undefined) addElement(signature.keyInfo);
  for (const property of unsignedPropertiesIn(document, signature)) {
    if (property === until) break;
    addElement(property);
  }
  const qualifying = qualifyingPropertiesIn(document, signature);
  for (const object of signature.objects) {
    if (qualifying === undefined || !document.isWithin(qualifying, object)) addElement(object);
  }
  return digest.digest();
}

function addReferenced(
  digest: Hash,
  reference: ReadReference,
  { document, signature, outside, budget }: Pick<ArchiveTask, 'document' | 'signature' | 'outside'> & { readonly budget: StepBudget },
): void {
  const { uri } = reference;
  if (uri === '' || uri?.startsWith('#') === true) {
    const request = canonicalRequest(reference, { document, signature: signature.element, budget });
    document.canonicalise(request, (piece) => digest.update(piece));
    return;
  }
  for (const piece of outside(reference)) digest.update(piece);
}
