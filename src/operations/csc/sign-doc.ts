import { z } from 'zod';
import { documentsAbsoluteMax } from '../../config/limits-config.ts';
import type { EvidenceDocument } from '../../documents/document.ts';
import type { LongAnswer } from '../../documents/long-answer.ts';
import { limitedBy } from '../../fields/documented.ts';
import { askedSigning } from '../fields/input-documents.ts';
import type { Context } from '../operation.ts';
import { signInFormats, type DocumentsToSign } from '../sign/sign-documents.ts';
import { activatedKey, sadWords } from './activated-key.ts';
import { signaturesMax } from './credential.ts';
import { cscOperation } from './csc-operation.ts';
import { algorithmOf, DocumentToSign, envelopeOf, signatureAsked, type Envelope } from './document-to-sign.ts';
import { invalidRequest } from './errors.ts';
import { ClientData, CredentialId, exampleCredential, exampleSad, Sad, synchronous } from './parameters.ts';
import type { SigningAlgorithm } from './sign-algorithm.ts';
import { contentOf } from './sign-hash.ts';

const Base64Text: z.ZodType<string | LongAnswer> = z.base64();

const SignedDocuments = z.strictObject({
  DocumentWithSignature: z.array(Base64Text).optional().describe('signatures with their documents, base64, in the order of the request'),
  SignatureObject: z.array(Base64Text).optional().describe('detached signatures, base64, in the order of the request'),
});
type SignedDocuments = z.output<typeof SignedDocuments>;

/** `signatures/signDoc` (Cloud Signature Consortium API 2.0.0.2, clause 11.11). */
export const signDocV2 = cscOperation({
  version: 'v2',
  method: 'signatures/signDoc',
  summary: 'Signs documents whose hashes were authorised, as CAdES, XAdES or PAdES.',
  details:
    'Each document gets a signature of its own; all signatures of a request use one algorithm. Time-stamps and revocation data of the levels T, LT and LTA come from the sources of the configuration and of the certificates.',
  request: z.strictObject({
    credentialID: CredentialId,
    SAD: Sad,
    documents: z
      .array(DocumentToSign)
      .min(1, 'Empty documentDigests and documents objects')
      .max(documentsAbsoluteMax)
      .meta({ description: 'the documents', ...limitedBy('documentsMax') }),
    documentDigests: z
      .array(z.unknown())
      .max(0, 'Invalid object parameter documentDigests')
      .optional()
      .describe('must be empty: for digests there is signatures/signHash'),
    returnValidationInfo: z.literal(false).optional().describe('validation data is in signatures of the levels LT and LTA alone'),
    ...synchronous,
    clientData: ClientData,
  }),
  example: {
    ...{ credentialID: exampleCredential, SAD: exampleSad },
    documents: [
      {
        ...{
          document: 'U2lnbmVkIGluIFBhcmlzLg==',
          signature_format: 'C',
          conformance_level: 'Ades-B-B',
          signAlgo: '1.2.840.113549.1.1.11',
        },
        signed_envelope_property: 'Detached',
      },
    ],
  },
  answer: SignedDocuments,
  words: { ...sadWords, notAuthorised: 'documentDigests or documents are not authorized by the SAD' },
  async run({ credentialID, SAD, documents }, context) {
    const [first] = documents;
    if (first === undefined) throw new RangeError('a request has a document');
    if (documents.length > signaturesMax(context)) throw invalidRequest('Numbers of signatures is too high');
    const algorithm = algorithmOf(first);
    if (documents.some((one) => JSON.stringify(algorithmOf(one)) !== JSON.stringify(algorithm))) {
      throw invalidRequest('Invalid parameter signAlgo: a request uses one algorithm for all signatures', 'UNSUPPORTED', '/documents');
    }
    const formats = askedAlike(documents).map((alike) => documentsOfFormat(alike, algorithm, context));
    const { key, signing } = await activatedKey({ credentialID, SAD }, context);
    if (key.type.startsWith('RSA-') !== (algorithm.scheme !== 'ECDSA')) {
      throw invalidRequest('Invalid parameter signAlgo', 'FIELDS_INCONSISTENT', '/documents/0/signAlgo');
    }
    return signInFormats(formats, signing, context, (delivered) => answerOf(formats, delivered));
  },
});

/** A document with its place in the request. */
interface PlacedDocument {
  readonly place: number;
  readonly document: DocumentToSign;
}

interface FormatToSign extends DocumentsToSign {
  /** The places of its documents in the request. */
  readonly places: readonly number[];
  readonly envelope: Envelope;
}

/**
 * Puts documents together that are asked for alike, since they are prepared and completed together.
 * A detached XAdES would be one signature over all of them, so each is apart.
 */
function askedAlike(documents: readonly DocumentToSign[]): readonly (readonly PlacedDocument[])[] {
  const placed = documents.map((document, place) => ({ place, document }));
  const nameOf = ({ place, document: { signature_format: format, conformance_level: level, ...one } }: PlacedDocument): string => {
    const envelope = envelopeOf({ signature_format: format, ...one }, place);
    return JSON.stringify([format, level, envelope, format === 'X' && envelope === 'Detached' ? place : 'together']);
  };
  return [...Map.groupBy(placed, nameOf).values()];
}

function documentsOfFormat(placed: readonly PlacedDocument[], algorithm: SigningAlgorithm, context: Context): FormatToSign {
  const [first] = placed;
  if (first === undefined) throw new RangeError('documents that are asked for alike are at least one');
  const envelope = envelopeOf(first.document, first.place);
  const parameters = { XP7Signature: signatureAsked(first.document, envelope, algorithm) };
  const inputDocuments = placed.map(({ place, document }) => ({ ID: String(place), base64Data: { base64Value: document.document } }));
  const { asked, documents: askedDocuments } = askedSigning({ parameters, inputDocuments }, context);
  return {
    asked,
    askedDocuments,
    parameters,
    inputDocuments,
    optionalInputs: undefined,
    envelope,
    places: placed.map(({ place }) => place),
  };
}

/** Puts the signatures in the order of the request, those that are detached apart from the others. */
function answerOf(formats: readonly FormatToSign[], delivered: readonly (readonly EvidenceDocument[])[]): SignedDocuments {
  const signed = formats
    .flatMap(({ envelope, places }, format) =>
      (delivered[format] ?? []).map((evidence, index) => ({ place: places[index] ?? 0, envelope, content: contentOf(evidence) })),
    )
    .toSorted((one, other) => one.place - other.place);
  const [detached, whole] = [true, false].map((isDetached) =>
    signed.filter(({ envelope }) => (envelope === 'Detached') === isDetached).map(({ content }) => content),
  );
  return {
    ...(whole === undefined || whole.length === 0 ? {} : { DocumentWithSignature: whole }),
    ...(detached === undefined || detached.length === 0 ? {} : { SignatureObject: detached }),
  };
}
