import type { SignatureFormat } from '../../../src/signatures/format.ts';
import type { InputDocument } from '../../../src/documents/document.ts';
import { usualProperties } from '../../../src/signatures/request/signed-properties.ts';
import { envelopedFormat } from '../../../src/signatures/xades/enveloped.ts';
import type { DetachedParameters } from '../../../src/signatures/xades/detached.ts';
import type { EnvelopedParameters } from '../../../src/signatures/xades/enveloped-state.ts';
import type { XadesParameters } from '../../../src/signatures/xades/xades-parameters.ts';
import type { Canonicalisation } from '../../../src/xml/canonicalisation.ts';
import { chainOf, joined, signingOf, softwareSigner, theOne, valueOf, type SoftwareSigner } from '../software-signer.ts';

export const signer = softwareSigner('XAdES signer');
let seeds = 0;

/** The default: XAdES 1.3.2 by `signer`, exclusive canonicalisation. The Ids differ each time. */
export function xadesParameters(more: Partial<XadesParameters> = {}): XadesParameters {
  seeds += 1;
  return {
    ...{ algorithm: signer.algorithm, version: 'VERSION_1_3_2', prefix: 'xad', ids: {}, root: undefined },
    ...{ properties: usualProperties, seed: `seed ${seeds}`, validates: false },
    canonicalisation: everywhere('EXC_C14N'),
    ...more,
  };
}

/** The same algorithm for contents, properties and SignedInfo. */
export function everywhere(algorithm: Canonicalisation): XadesParameters['canonicalisation'] {
  return { contents: algorithm, properties: algorithm, signedInfo: algorithm };
}

/** The default: a signature of the whole document as the last child of its root. */
export function envelopedParameters(more: Partial<EnvelopedParameters> = {}): EnvelopedParameters {
  const place = { position: undefined, place: 'LAST_CHILD', signedNode: undefined, transformation: undefined, at: '/parameters' } as const;
  return { ...xadesParameters(more), ...place, ...more };
}

/** The default: one signature over all documents, which stands alone. */
export function detachedParameters(more: Partial<DetachedParameters> = {}): DetachedParameters {
  return {
    ...xadesParameters(more),
    ...{ documentCanonicalisation: undefined, template: undefined, directory: undefined, container: undefined },
    ...{ hasManifest: false, keepsContents: false, at: '/parameters' },
    ...more,
  };
}

export function documentNamed(content: string | Uint8Array, fileName = 'document.xml'): InputDocument {
  return { id: fileName, fileName, source: { content: Buffer.from(content) } };
}

/** Both steps, as the service takes them. The state goes through JSON between them, as that of a session does. */
export function made<P extends XadesParameters, S>(
  format: SignatureFormat<P, S>,
  documents: readonly InputDocument[],
  parameters: P,
  by: SoftwareSigner = signer,
): Buffer {
  const prepared = theOne(format.prepare(documents, parameters, chainOf(by), { now: new Date() }));
  const stored = { ...prepared, state: JSON.parse(JSON.stringify(prepared.state)) as S };
  return joined(format.complete(stored, valueOf(by, prepared, parameters.algorithm), signingOf(by, parameters.algorithm)).content);
}

/** Signs a document, enveloped. */
export function enveloped(xml: string | Uint8Array, more: Partial<EnvelopedParameters> = {}, by: SoftwareSigner = signer): Buffer {
  return made(envelopedFormat, [documentNamed(xml)], envelopedParameters(more), by);
}
