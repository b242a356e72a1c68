import { z } from 'zod';
import { oids } from '../../asn1/object-identifiers.ts';
import { hashAlgorithmOid } from '../../cms/algorithm-identifier.ts';
import { Base64 } from '../../fields/values.ts';
import type { XP7Signature } from '../../signatures/request/xp7-signature.ts';
import { hashBytes } from '../../token/signature-algorithm.ts';
import { invalidRequest } from './errors.ts';
import { HashOid, SignAlgo, SignAlgoParams, type SignedHash } from './parameters.ts';
import { namedAlgorithm, type SigningAlgorithm } from './sign-algorithm.ts';

const conformanceLevels = ['B-B', 'B-T', 'B-LT', 'B-LTA', 'B', 'T', 'LT', 'LTA'] as const;

/** The standard writes the levels as `Ades-B-B` and in its examples as `AdES-B-B`. */
const levelNames = conformanceLevels.flatMap((level) => [`Ades-${level}`, `AdES-${level}`] as const);
type LevelName = (typeof levelNames)[number];

const envelopes = ['Certification', 'Revision', 'Enveloped', 'Enveloping', 'Detached', 'Attached'] as const;
export type Envelope = (typeof envelopes)[number];

/** A document of `signatures/signDoc`. */
export const DocumentToSign = z
  .strictObject({
    document: Base64.describe('the document, base64; its hash was authorised'),
    signature_format: z.enum(['C', 'X', 'P']).meta({ id: 'CscSignatureFormat', description: 'C: CAdES, X: XAdES, P: PAdES' }),
    conformance_level: z
      .enum(levelNames)
      .meta({ id: 'CscConformanceLevel', description: 'level of a signature' })
      .optional()
      .describe('level of the signature; default: Ades-B-B'),
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
      .meta({ id: 'CscEnvelope', description: 'where a signature and its document are, and what it is for' })
      .optional()
      .describe(
        'C: Attached (default) or Detached; X: Enveloped (default), Enveloping or Detached; P: Certification (default) or Revision, an approval signature',
      ),
  })
  .meta({ id: 'CscDocument', description: 'a document to be signed' });
export type DocumentToSign = z.output<typeof DocumentToSign>;

/** In the standard's samples `signAlgo` is rsaEncryption, and no parameter names the hash: the service chooses it. */
export function algorithmOf({ signAlgo, signAlgoParams, hashAlgorithmOID }: DocumentToSign): SigningAlgorithm {
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
export function envelopeOf(
  { signature_format: format, signed_envelope_property: envelope }: Pick<DocumentToSign, 'signature_format' | 'signed_envelope_property'>,
  place: number,
): Envelope {
  const allowed = allowedEnvelopes[format];
  if (envelope === undefined) return allowed[0];
  if (allowed.includes(envelope)) return envelope;
  throw invalidRequest('Invalid parameter signed_envelope_property', 'FIELDS_INCONSISTENT', `/documents/${place}/signed_envelope_property`);
}

const digests: Readonly<Record<SignedHash, XP7Signature['digestAlgorithm']>> = { sha256: 'SHA_256', sha384: 'SHA_384', sha512: 'SHA_512' };

/** Returns the signature as `sign` of the interface asks for it. */
export function signatureAsked(document: DocumentToSign, envelope: Envelope, algorithm: SigningAlgorithm): XP7Signature {
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
