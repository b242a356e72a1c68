import { Refusal } from '../../result-codes.ts';
import { canonicalisations } from '../../xml/canonicalisation.ts';
import { checkNamespaceLoad } from '../../xml/namespace-load.ts';
import { StepBudget } from '../../xml/step-budget.ts';
import { XmlDocument } from '../../xml/xml-document.ts';
import { elementsWithId } from '../../xmldsig/ids.ts';
import { obsoleteNotice, oneForEach, type SignatureFormat } from '../format.ts';
import { checkEarlierSignatures, holdingReferences, signedInfoName } from './earlier-signatures.ts';
import { insertionOf } from './enveloped-place.ts';
import { envelopedReference, joinsBases } from './enveloped-reference.ts';
import type { EnvelopedParameters, EnvelopedState } from './enveloped-state.ts';
import { checkIndependent, checkUnharmed, verifyEnveloped, withSignature } from './enveloped-result.ts';
import { composeSignature, signatureParts } from './signature-text.ts';
import { unsignedProperties } from './unsigned-properties.ts';
import { preparedXades } from './xades-state.ts';
import { signatureIds } from './xades-parameters.ts';
import { xadesWorkload } from './xades-workload.ts';
import { callerStepsMax, checkNamespaces, checkTextEncoding, contentOf, fileDigest, refusingXml, xmlBytes, xmlInput } from './xml-input.ts';

/** XAdES in the signed document (EN 319 132-1 §6; XML Signature §2.1). */
export const envelopedFormat: SignatureFormat<EnvelopedParameters, EnvelopedState> = {
  workload: ({ position, transformation, at }) =>
    xadesWorkload(
      transformation !== undefined ? `${at}/xpathTransformation` : position !== undefined ? `${at}/xpathSignaturePosition` : undefined,
    ),
  completion: ({ xpathAt }) => xadesWorkload(xpathAt ?? undefined),

  prepare(documents, parameters, chain, { now }) {
    if (chain === undefined) throw new Error('a XAdES signature binds the certificate of its signer');
    const budget = new StepBudget(callerStepsMax);
    // The filter is evaluated twice more.
    const again = new StepBudget(2 * callerStepsMax);
    return oneForEach(documents, (input, index) => {
      const content = contentOf(input);
      const at = `/inputDocuments/${index}`;
      const xml = refusingXml(() => xmlInput(content), at);
      refusingXml(() => checkTextEncoding(input, xml), at);
      using document = refusingXml(() => XmlDocument.parse(xml.utf8), at);
      refusingXml(() => checkNamespaces(xml, document), at);
      // The references of existing signatures are canonicalised too, in whatever form they name.
      const forms = document.mentions(signedInfoName) ? canonicalisations : Object.values(parameters.canonicalisation);
      refusingXml(() => checkNamespaceLoad(document, forms), at);
      const ids = signatureIds(parameters, index);
      checkIds(document, parameters);
      const insertion = insertionOf(document, xml, parameters, { documentAt: at, budget });
      const { element, elementsBefore, ...place } = insertion;
      const { reference, expected } = envelopedReference(document, element, `${ids.reference}-0`, parameters, { documentAt: at, budget });
      const inherits = [parameters.canonicalisation.properties, parameters.canonicalisation.signedInfo].some((one) =>
        one.startsWith('C14N_11'),
      );
      if (inherits && place.around.some((tag) => tag.includes('xml:base'))) throw joinsBases(at);
      const mimeType = input.mimeType ?? 'text/xml';
      const composed = refusingXml(
        () => composeSignature({ parameters, ids, chain, now, references: [{ ...reference, mimeType }], around: place.around }),
        at,
      );
      // Names that the caller chooses must be in the encoding of the document.
      refusingXml(() => xml.encode(`${composed.text.beforeValue}${composed.text.beforeUnsigned}`), at);
      const obsolete = parameters.validates ? refusingXml(() => checkEarlierSignatures(document), at) : [];
      const earlier = refusingXml(() => holdingReferences(document), at);
      if (earlier.length > 0) refusingXml(() => checkUnharmed(earlier, xml, insertion, composed.text, ids.signature), at);
      if (parameters.transformation !== undefined) {
        const xpathAt = `${parameters.at}/xpathTransformation`;
        refusingXml(() => {
          checkIndependent(xml, insertion, composed.text, { signatureId: ids.signature, at: xpathAt, budget: again });
        }, xpathAt);
      }
      const { state, ...prepared } = preparedXades(composed, { parameters, ids, references: [expected], contents: [content] });
      return {
        ...fileDigest(content, xml.bytes),
        signature: {
          ...prepared,
          notice: obsoleteNotice(obsolete),
          state: {
            ...state,
            ...{ place, elementsBefore },
            earlier,
            xpathAt: parameters.transformation === undefined ? null : `${parameters.at}/xpathTransformation`,
          },
        },
      };
    });
  },

  complete({ contents, state }, value, signing, additions) {
    if (signing === undefined) throw new Error('a XAdES signature binds the certificate of its signer');
    const [content] = contents;
    if (content === undefined) throw new Error('the prepared content is missing');
    const xml = xmlBytes(content);
    const { start, end } = signatureParts(state.text, value, unsignedProperties(state, additions));
    const pieces = withSignature(xml, state.place, `${start}${end}`);
    verifyEnveloped(pieces, xml, `${start}${end}`, { ...state, signing, value });
    return { content: pieces, mimeType: 'application/xml', ending: '.xml' };
  },
};

/** Checks that Ids that the caller chose are not in use. @throws {Refusal} DOCUMENT_INVALID */
function checkIds(document: XmlDocument, { ids, at }: EnvelopedParameters): void {
  const members = { signature: 'signatureId', signedProperties: 'signedPropertiesId', signatureValue: 'signatureValueId' } as const;
  for (const name of ['signature', 'signedProperties', 'signatureValue'] as const) {
    const id = ids[name];
    if (id === undefined || elementsWithId(document, id).length === 0) continue;
    throw new Refusal('DOCUMENT_INVALID', { at: `${at}/${members[name]}`, message: 'the document already has an element with this Id' });
  }
}
