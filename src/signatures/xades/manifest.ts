import { createHash } from 'node:crypto';
import { inContext } from '../../xml/insertion.ts';
import { XmlDocument } from '../../xml/xml-document.ts';
import { element } from '../../xml/xml-text.ts';
import { dsNamespace } from '../../xmldsig/algorithm-uris.ts';
import { readReference, type ReadSignature } from '../../xmldsig/read-signature.ts';
import { canonicalTransform, manifestType, reference, rootTags, type DataReference, type SignatureTask } from './signature-text.ts';
import type { ExpectedReference } from './xades-state.ts';

/** A ds:Manifest (XML Signature §5.1): the signature covers it, and it lists the signed data. */
export interface ComposedManifest {
  /** ds:Object that contains it. */
  readonly object: string;
  readonly reference: DataReference;
}

export function composeManifest(
  references: readonly DataReference[],
  { parameters, ids, around }: Pick<SignatureTask, 'parameters' | 'ids' | 'around'>,
): ComposedManifest {
  const { algorithm, canonicalisation } = parameters;
  const id = `manifest-${ids.reference}`;
  const list = references.map((one) => reference(algorithm.hash, one));
  const object = element('ds:Object', {}, element('ds:Manifest', { Id: id }, ...list));
  const root = rootTags({ parameters, ids });
  using document = XmlDocument.parse(Buffer.from(inContext(around, `${root.start}${object}${root.end}`)));
  const apex = Array.from(document.elements()).find((one) => document.is(one, dsNamespace, 'Manifest'));
  const octets = document.canonical({ algorithm: canonicalisation.contents, apex });
  return {
    object,
    reference: {
      id: `${ids.reference}-manifest`,
      uri: `#${id}`,
      type: manifestType,
      transforms: [canonicalTransform(canonicalisation.contents)],
      digest: createHash(algorithm.hash).update(octets).digest(),
      mimeType: 'text/xml',
    },
  };
}

/** Checks that the manifest lists exactly these references. @throws {Error} */
export function verifyManifest(document: XmlDocument, { objects }: ReadSignature, expected: readonly ExpectedReference[]): void {
  const manifest = objects.flatMap((object) => document.children(object)).find((one) => document.is(one, dsNamespace, 'Manifest'));
  const listed = manifest === undefined ? [] : document.children(manifest).map((one) => readReference(document, one));
  const isEqual = expected.every(
    ({ uri, digest }, index) => listed[index]?.uri === uri && Buffer.from(digest, 'base64').equals(listed[index].digest),
  );
  if (listed.length !== expected.length || !isEqual)
    throw new Error('the manifest of the signature lists other references than were prepared');
}
