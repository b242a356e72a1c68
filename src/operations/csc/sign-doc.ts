import { z } from 'zod';
import type { LongAnswer } from '../../documents/long-answer.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import { hashAlgorithmOid } from '../../cms/algorithm-identifier.ts';
import { limitedBy } from '../../fields/documented.ts';
import { Base64 } from '../../fields/values.ts';
import { documentsAbsoluteMax } from '../../config/limits-config.ts';
import type { XP7Signature } from '../../signatures/request/xp7-signature.ts';
import { askedSigning } from '../fields/input-documents.ts';
import { signDocuments } from '../sign/sign-documents.ts';
import { activatedKey } from './activated-key.ts';
import { signaturesMax } from './credential.ts';
import { cscOperation } from './csc-operation.ts';
import { invalidRequest } from './errors.ts';
import { namedAlgorithm, type SigningAlgorithm } from './sign-algorithm.ts';
import { sadWords } from './sad-words.ts';
import { contentOf } from './sign-hash.ts';
import { hashBytes } from '../../token/signature-algorithm.ts';
import {
  ClientData,
  CredentialId,
  exampleCredential,
  exampleSad,
  HashOid,
  Sad,
  SignAlgo,
  SignAlgoParams,
  synchronous,
  type SignedHash,
} from './parameters.ts';

const conformanceLevels = ['B-B', 'B-T', 'B-LT', 'B-LTA', 'B', 'T', 'LT', 'LTA'] as const;

/** The standard writes the levels as `Ades-B-B` and in its examples as `AdES-B-B`. */
const levelNames = conformanceLevels.flatMap((level) => [`Ades-${level}`, `AdES-${level}`] as const);
type LevelName = (typeof levelNames)[number];

const envelopes = ['Certification', 'Revision', 'Enveloped', 'Enveloping', 'Detached', 'Attached'] as const;
type Envelope = (typeof envelopes)[number];

const DocumentToSign = z
  .strictObject({
    document: Base64.describe('the document, base64; its hash was authorised'),
    signature_format: z.enum(['C', 'X', 'P']).describe('C: CAdES, X: XAdES, P: PAdES'),
    conformance_level: z.enum(levelNames).optional().describe('level of the signature; default: Ades-B-B'),
    signAlgo: SignAlgo,
    hashAlgorithmOID: HashOid.optional().describe(
      'the hash: SHA-256 (2.16.840.1.101.3.4.2.1), SHA-384 (….2), SHA-512 (….3); default: that of signAlgo or signAlgoParams, otherwise SHA-256',
    ),
    signAlgoParams: SignAlgoParams,
    signed_props: z
      .array(z.unknown())
      .max(0, 'Invalid parameter signed_props')
      .optional()
      .describe('must be empty: the signed properties are those of a baseline signature'),
    signed_envelope_property: z
      .enum(envelopes)
      .optional()
      .describe(
        'C: Attached (default) or Detached; X: Enveloped (default), Enveloping or Detached; P: Certification (default) or Revision, an approval signature',
      ),
  })
  .meta({ id: 'CscDocument', description: 'a document to be signed' });
type DocumentToSign = z.output<typeof DocumentToSign>;

const Base64Text: z.ZodType<string | LongAnswer> = z.base64();

/** `signatures/signDoc` (Cloud Signature Consortium API 2.0.0.2, clause 11.11). */
export const signDocV2 = cscOperation({
  version: 'v2',
  method: 'signatures/signDoc',
  summary: 'Signs documents whose hashes were authorised, as CAdES, XAdES or PAdES.',
  details:
    'Each document gets a signature of its own, and all of a request are asked for alike: in one format, level and algorithm. A detached XAdES takes one document. The service computes time-stamps and revocation data of the levels T, LT and LTA by its configuration.',
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
  answer: z.strictObject({
    DocumentWithSignature: z.array(Base64Text).optional().describe('signatures with their documents, base64, in the order of the request'),
    SignatureObject: z.array(Base64Text).optional().describe('detached signatures, base64, in the order of the request'),
  }),
  words: { ...sadWords, notAuthorised: 'documentDigests or documents are not authorized by the SAD' },
  async run({ credentialID, SAD, documents }, context) {
    const [first] = documents;
    if (first === undefined) throw new RangeError('a request has a document');
    if (documents.length > signaturesMax(context)) throw invalidRequest('Numbers of signatures is too high');
    if (documents.some((one) => !isAskedAlike(one, first))) {
      throw invalidRequest('Invalid array parameter documents: all documents of a request are signed alike', 'UNSUPPORTED', '/documents');
    }
    const envelope = envelopeOf(first);
    if (envelope === 'Detached' && first.signature_format === 'X' && documents.length > 1) {
      throw invalidRequest('Invalid array parameter documents: a detached XAdES takes one document', 'UNSUPPORTED', '/documents');
    }
    const algorithm = algorithmOf(first);
    const parameters = { XP7Signature: signatureAsked(first, envelope, algorithm) };
    const inputDocuments = documents.map(({ document }, index) => ({ ID: String(index), base64Data: { base64Value: document } }));
    const { asked, documents: askedDocuments } = askedSigning({ parameters, inputDocuments }, context);
    const { key, signing } = await activatedKey({ credentialID, SAD }, context);
    if (key.type.startsWith('RSA-') !== (algorithm.scheme !== 'ECDSA')) {
      throw invalidRequest('Invalid parameter signAlgo', 'FIELDS_INCONSISTENT', '/documents/0/signAlgo');
    }
    const toSign = { asked, askedDocuments, parameters, inputDocuments, optionalInputs: undefined, key: signing };
    return signDocuments(toSign, context, (delivered) => {
      const signed = delivered.map(contentOf);
      return envelope === 'Detached' ? { SignatureObject: signed } : { DocumentWithSignature: signed };
    });
  },
});

function isAskedAlike(one: DocumentToSign, other: DocumentToSign): boolean {
  const [a, b] = [one, other].map(({ signAlgoParams, ...asked }) =>
    JSON.stringify({ ...asked, document: undefined, signAlgoParams: signAlgoParams && Buffer.from(signAlgoParams).toString('hex') }),
  );
  return a === b;
}

/** In the standard's samples `signAlgo` is rsaEncryption, and no parameter names the hash: the service chooses it. */
function algorithmOf({ signAlgo, signAlgoParams, hashAlgorithmOID }: DocumentToSign): SigningAlgorithm {
  const isNamed = signAlgo !== oids.rsaEncryption && (signAlgo !== oids.rsassaPss || signAlgoParams !== undefined);
  const hashOid = hashAlgorithmOID ?? (isNamed ? undefined : hashAlgorithmOid('sha256'));
  return namedAlgorithm({ signAlgo, signAlgoParams, hashOid, hashParameter: 'hashAlgorithmOID' });
}

const allowedEnvelopes: Readonly<Record<DocumentToSign['signature_format'], readonly [usual: Envelope, ...others: Envelope[]]>> = {
  C: ['Attached', 'Detached'],
  X: ['Enveloped', 'Enveloping', 'Detached'],
  P: ['Certification', 'Revision'],
};

/** @throws {Refusal} FIELDS_INCONSISTENT */
function envelopeOf({ signature_format: format, signed_envelope_property: envelope }: DocumentToSign): Envelope {
  const allowed = allowedEnvelopes[format];
  if (envelope === undefined) return allowed[0];
  if (allowed.includes(envelope)) return envelope;
  throw invalidRequest('Invalid parameter signed_envelope_property', 'FIELDS_INCONSISTENT', '/documents/0/signed_envelope_property');
}

const digests: Readonly<Record<SignedHash, XP7Signature['digestAlgorithm']>> = { sha256: 'SHA_256', sha384: 'SHA_384', sha512: 'SHA_512' };

/** Returns the signature as `sign` of the interface asks for it. */
function signatureAsked(document: DocumentToSign, envelope: Envelope, algorithm: SigningAlgorithm): XP7Signature {
  return {
    ...formatAsked(document.signature_format, envelope),
    ...levelAsked(document.conformance_level ?? 'Ades-B-B'),
    digestAlgorithm: digests[algorithm.hash],
    ...(algorithm.scheme === 'RSA_PSS' ? pssAsked(algorithm) : {}),
  };
}

function formatAsked(format: DocumentToSign['signature_format'], envelope: Envelope): Pick<XP7Signature, 'XP7Format' | 'XP7Providers'> {
  if (format === 'C') return { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: envelope === 'Detached' } } };
  if (format === 'P') {
    // A certification permits forms to be filled in and further signatures, as is usual.
    const PXP7Parameters = envelope === 'Certification' ? { docMDPLevel: 'LEVEL_2' as const } : {};
    return { XP7Format: 'PXP_7', XP7Providers: { PXP7Parameters } };
  }
  if (envelope === 'Enveloping') return { XP7Format: 'EGXXP_7' };
  return envelope === 'Detached' ? { XP7Format: 'DXXP_7' } : { XP7Format: 'EXXP_7' };
}

function levelAsked(name: LevelName): Pick<XP7Signature, 'timeStamp' | 'longTermValidation'> {
  const level = name.slice('Ades-'.length).replace(/^B-/, '');
  if (level === 'B') return {};
  if (level === 'T') return { timeStamp: {} };
  return { timeStamp: {}, longTermValidation: { archiveTimeStamp: level === 'LTA' } };
}

/** @throws {Refusal} UNSUPPORTED for other parameters than those that the formats write */
function pssAsked({ hash, mgfHash, saltBytes }: Extract<SigningAlgorithm, { scheme: 'RSA_PSS' }>): Pick<XP7Signature, 'RSAVersion'> {
  if (mgfHash === hash && saltBytes === hashBytes[hash]) return { RSAVersion: 'PKCS_1_2_1' };
  const rule = 'MGF1 with the hash of the signature, and a salt as long as that hash';
  throw invalidRequest(`Invalid parameter signAlgoParams: supported are ${rule}`, 'UNSUPPORTED', '/documents/0/signAlgoParams');
}
