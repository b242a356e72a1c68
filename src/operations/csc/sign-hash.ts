import { z } from 'zod';
import type { EvidenceDocument } from '../../documents/document.ts';
import type { LongAnswer } from '../../documents/long-answer.ts';
import { hashAlgorithmOid } from '../../cms/algorithm-identifier.ts';
import { hashBytes } from '../../token/signature-algorithm.ts';
import type { Context } from '../operation.ts';
import { askedSigning } from '../fields/input-documents.ts';
import { signDocuments } from '../sign/sign-documents.ts';
import { activatedKey, sadWords } from './activated-key.ts';
import { signaturesMax } from './credential.ts';
import { cscOperation } from './csc-operation.ts';
import { invalidRequest, type RefusalWords } from './errors.ts';
import { namedAlgorithm, rawParameters, type NamedAlgorithm } from './sign-algorithm.ts';
import {
  ClientData,
  CredentialId,
  exampleCredential,
  exampleHash,
  exampleSad,
  Hashes,
  HashOid,
  Sad,
  SignAlgo,
  SignAlgoParams,
  synchronous,
} from './parameters.ts';

const common = { credentialID: CredentialId, SAD: Sad, signAlgo: SignAlgo, signAlgoParams: SignAlgoParams, clientData: ClientData };

/** A signature value is short; only a long answer as a whole is not text. */
const Base64Text: z.ZodType<string | LongAnswer> = z.base64();

const words: RefusalWords = {
  ...sadWords,
  parameterOf: (at) =>
    at.includes('/signatureAlgorithmParameters')
      ? 'Invalid parameter signAlgoParams'
      : at.startsWith('/parameters')
        ? 'Invalid parameter signAlgo'
        : undefined,
};

const described = {
  method: 'signatures/signHash',
  summary: 'Signs hashes that were authorised.',
  details:
    'A value of ECDSA is the DER of ECDSA-Sig-Value (RFC 3279 §2.2.3). The activation data is used up, whether or not it fits the hashes.',
  answer: z.strictObject({ signatures: z.array(Base64Text).describe('the signature values, base64, in the order of the hashes') }),
  words,
} as const;

/** `signatures/signHash` of version 1 (Cloud Signature Consortium API 1.0.4.0, clause 11.9). */
export const signHashV1 = cscOperation({
  ...described,
  version: 'v1',
  request: z.strictObject({ ...common, hash: Hashes.describe('the hashes, base64'), hashAlgo: HashOid.optional() }),
  example: {
    ...{ credentialID: exampleCredential, SAD: exampleSad, hash: [exampleHash] },
    ...{ hashAlgo: '2.16.840.1.101.3.4.2.1', signAlgo: '1.2.840.113549.1.1.1' },
  },
  async run({ hash, hashAlgo, ...asked }, context) {
    return signHashes({ ...asked, hashes: hash, hashOid: hashAlgo, hashParameter: 'hashAlgo' }, context);
  },
});

/** `signatures/signHash` of version 2 (2.0.0.2, clause 11.10). */
export const signHashV2 = cscOperation({
  ...described,
  version: 'v2',
  request: z.strictObject({
    ...common,
    hashes: Hashes.describe('the hashes, base64'),
    hashAlgorithmOID: HashOid.optional(),
    ...synchronous,
  }),
  example: {
    ...{ credentialID: exampleCredential, SAD: exampleSad, hashes: [exampleHash] },
    ...{ hashAlgorithmOID: '2.16.840.1.101.3.4.2.1', signAlgo: '1.2.840.113549.1.1.1' },
  },
  async run({ hashAlgorithmOID, ...asked }, context) {
    return signHashes({ ...asked, hashOid: hashAlgorithmOID, hashParameter: 'hashAlgorithmOID' }, context);
  },
});

interface Asked {
  readonly credentialID: string;
  readonly SAD: string;
  readonly hashes: readonly Uint8Array[];
  readonly signAlgo: string;
  readonly signAlgoParams?: Uint8Array | undefined;
  readonly hashOid: string | undefined;
  readonly hashParameter: NamedAlgorithm['hashParameter'];
}

/** Each hash is a document that is given as its digest, for a raw signature. */
async function signHashes({ hashes, ...asked }: Asked, context: Context): Promise<{ signatures: (string | LongAnswer)[] }> {
  const { signAlgo, signAlgoParams, hashOid, hashParameter } = asked;
  const algorithm = namedAlgorithm({ signAlgo, signAlgoParams, hashOid, hashParameter });
  if (hashes.length > signaturesMax(context)) throw invalidRequest('Numbers of signatures is too high');
  if (hashes.some(({ length }) => length !== hashBytes[algorithm.hash])) throw invalidRequest('Invalid digest value length');
  const digestAlgOID = hashAlgorithmOid(algorithm.hash);
  const inputDocuments = hashes.map((digestValue, index) => ({ ID: String(index), digest: { digestAlgOID, digestValue } }));
  const parameters = { rawSignature: rawParameters(algorithm, signAlgo) };
  const { asked: askedFormat, documents: askedDocuments } = askedSigning({ parameters, inputDocuments }, context);
  const { signing } = await activatedKey(asked, context);
  const toSign = { asked: askedFormat, askedDocuments, parameters, inputDocuments, optionalInputs: undefined };
  return signDocuments(toSign, signing, context, (delivered) => ({ signatures: delivered.map(contentOf) }));
}

/** Returns the evidence in base64, as it is delivered by default. */
export function contentOf({ base64Data }: EvidenceDocument): string | LongAnswer {
  if (base64Data === undefined) throw new Error('evidence is delivered in base64');
  return base64Data.base64Value;
}
