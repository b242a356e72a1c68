import type { Evidence, InputDocument } from '../../documents/document.ts';
import { contentBytes } from '../../documents/content.ts';
import { Refusal } from '../../result-codes.ts';
import { codePicture, checkRoom, takesLongToDraw, type PictureSettings, type PictureWish } from '../../twoddoc/code-picture.ts';
import { codeVerifies, joinCode } from '../../twoddoc/code/code.ts';
import { zoneCurve, type ZoneCurve } from '../../twoddoc/code/curves.ts';
import { signedDocument } from '../../twoddoc/code/signed-document.ts';
import { refusing } from '../../twoddoc/two-d-doc-fault.ts';
import { checkZoneLength } from '../../twoddoc/zone/notation.ts';
import { readZone } from '../../twoddoc/zone/read-zone.ts';
import { bytesOf, hashContent } from '../content-source.ts';
import { oneForEach, usualWorkload, type SignatureFormat, type Workload } from '../format.ts';
import { possibleEcdsaValues } from '../signature-value.ts';

/** What is made of a signed zone. */
export type CodeOutput =
  | { readonly mode: 'SIGNED_CODE' | 'XML' }
  | { readonly mode: 'IMAGE'; readonly wish: PictureWish; readonly settings: PictureSettings };

export interface CodeParameters {
  readonly curve: ZoneCurve['name'];
  readonly output: CodeOutput;
}

export type CodeState = CodeParameters;

/** Most pictures take less than a millisecond, those of the largest symbols some. */
const drawing: Workload = { ...usualWorkload, documentsOnLoopMax: 5 };
const drawingLong: Workload = { ...usualWorkload, threadBeyondBytes: 0 };

/**
 * 2D-Doc codes (ANTS, Spécifications techniques des codes à barres 2D-Doc, v3.2.6, §3.5): a data
 * zone, its signature, and what shows them. Values are r‖s. If the signer is unknown, the value is
 * only brought into this form.
 */
export const codeFormat: SignatureFormat<CodeParameters, CodeState> = {
  workload: () => usualWorkload,
  completion({ output }) {
    if (output.mode !== 'IMAGE') return usualWorkload;
    return takesLongToDraw(output.settings) ? drawingLong : drawing;
  },

  prepare(documents, { curve: name, output }) {
    const curve = curveOf(name);
    const { hash } = curve.algorithm;
    return oneForEach(documents, (document, index) => {
      const at = `/inputDocuments/${index}`;
      const zone = refusing(at, () => zoneIn(document));
      if (output.mode === 'IMAGE') refusing(at, () => checkRoom(zone, curve));
      const digest = hashContent(hash, zone);
      const signature = { hash, digest, dataToSign: zone, contents: [zone], state: { curve: name, output } };
      return { signature, documentDigest: { hash, value: digest } };
    });
  },

  complete({ contents: [zone], covers, state }, value, signing) {
    if (!(zone instanceof Uint8Array)) throw new Error('a data zone is kept in memory');
    const { output } = state;
    const curve = curveOf(state.curve);
    const signature = signatureOf(value, curve);
    if (signing !== undefined && !codeVerifies({ zone, signature, curve, annex: undefined }, signing.chain.publicKey))
      throw new Error('the signature value does not verify under the signer certificate');
    const code = joinCode(zone, signature);
    if (output.mode === 'IMAGE') {
      const { wish, settings } = output;
      const { content } = refusing(`/inputDocuments/${covers[0]?.index ?? 0}`, () => codePicture(code, wish, settings));
      return wish.format === 'PNG' ? evidence(content, 'image/png', '.png') : evidence(content, 'image/tiff', '.tiff');
    }
    if (output.mode === 'SIGNED_CODE') return evidence(code, 'text/plain', '.2ddoc');
    const text = signedDocument({ zone, signature, curve, certificate: signing?.chain.certificate.der });
    return evidence(Buffer.from(text), 'application/xml', '.xml');
  },
};

/** Reads a document as a zone that breaks no rule. @throws {TwoDDocFault} */
function zoneIn({ source }: InputDocument): Uint8Array {
  if (!('content' in source)) throw new Error('a data zone is given as content');
  checkZoneLength(contentBytes(source.content));
  const zone = bytesOf(source.content);
  readZone(zone);
  return zone;
}

/**
 * Returns r‖s for a value of a device that the service does not know.
 * @throws {Refusal} SIGNATURE_VALUE_INVALID
 */
function signatureOf(value: Uint8Array, { namedCurve, name, signatureBytes }: ZoneCurve): Uint8Array {
  const [signature] = possibleEcdsaValues(value, namedCurve);
  if (signature !== undefined) return signature;
  throw new Refusal('SIGNATURE_VALUE_INVALID', {
    message: `a value of ${value.length} bytes is not a signature of ${name}: r‖s of ${signatureBytes} bytes, or its DER; the session stays open`,
  });
}

function curveOf(name: ZoneCurve['name']): ZoneCurve {
  const curve = zoneCurve(name);
  if (curve === undefined) throw new RangeError(`no curve ${name}`);
  return curve;
}

function evidence(content: Uint8Array, mimeType: string, ending: string): Evidence {
  return { content: [content], mimeType, ending };
}
