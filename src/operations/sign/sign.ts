import { z } from 'zod';
import { askedSigning, InputDocuments } from '../fields/input-documents.ts';
import { checkKeyReference, exampleReference, KeyReference } from '../fields/key-reference.ts';
import { OptionalInputs, checkOutput } from '../fields/evidence-output.ts';
import { RequestId } from '../../fields/values.ts';
import { operation } from '../operation.ts';
import { evidenceAnswer, EvidenceAnswer } from '../fields/evidence-answer.ts';
import { SignatureParameters } from '../../signatures/request/parameters.ts';
import { signDocuments } from './sign-documents.ts';
import { signingKey } from './signing-key.ts';

const SignRequest = z.strictObject({
  keyReference: KeyReference,
  parameters: SignatureParameters,
  inputDocuments: InputDocuments,
  optionalInputs: OptionalInputs.optional(),
  requestID: RequestId.optional(),
});

/** Signs documents with a key of the service, in one step (contract §5). */
export const sign = operation({
  path: 'signature/sign',
  role: 'signature',
  spelling: 'resultMajor',
  takesIdempotencyKey: true,
  summary: 'Signs documents with a key of the service, in one step.',
  request: SignRequest,
  example: {
    keyReference: exampleReference,
    parameters: { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } },
    inputDocuments: [{ ID: 'contract', fileName: 'contract.txt', plainData: { plainValue: 'Signed in Paris.' } }],
  },
  answer: EvidenceAnswer,
  async run({ keyReference, parameters, inputDocuments, optionalInputs }, context) {
    context.audit.key = keyReference.reference;
    const { asked, documents: askedDocuments } = askedSigning({ parameters, inputDocuments }, context);
    checkOutput(optionalInputs, asked);
    checkKeyReference(keyReference);

    const key = await signingKey(keyReference, asked, context);
    return signDocuments({ asked, askedDocuments, inputDocuments, parameters, optionalInputs }, key, context, evidenceAnswer);
  },
});
