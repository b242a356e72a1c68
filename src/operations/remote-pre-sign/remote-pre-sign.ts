import { z } from 'zod';
import { oids } from '../../asn1/object-identifiers.ts';
import { documentsAbsoluteMax } from '../../config/limits-config.ts';
import type { InputDocument } from '../../documents/document.ts';
import { Refusal } from '../../result-codes.ts';
import { CertificatesField } from '../fields/certificate-field.ts';
import { InputDocuments, type InputDocumentField } from '../fields/input-documents.ts';
import { openDocuments } from '../fields/open-documents.ts';
import { RequestId } from '../../fields/values.ts';
import { operation, type Context } from '../operation.ts';
import { askedSignature, type AskedSignature } from '../sign/asked-signature.ts';
import { SignatureParameters } from '../../signatures/request/parameters.ts';
import { signingPlan, trustedCaOf } from '../../signatures/signatures.ts';
import { checkBareDigests } from './bare-digests.ts';
import { digestEntry, DigestEntryToSign } from './digest-to-sign.ts';
import { checkValidNow, externalSigner, type ExternalSigner } from './external-signer.ts';
import { prepareBareSession, prepareSession, type PreparedSession } from './prepare-session.ts';

const maxChainCertificates = 16;

const RemotePreSignRequest = z
  .strictObject({
    parameters: SignatureParameters,
    inputDocuments: InputDocuments.describe('the documents; at most 100 unless the configuration says otherwise'),
    signerCertificate: CertificatesField.optional().describe(
      'certificate of the signer, from any CA: base64 of its DER, or PEM text, where those of its CAs may follow it; required but for rawSignature and code2DDocSignature',
    ),
    certificateChain: z
      .array(CertificatesField)
      .max(maxChainCertificates)
      .optional()
      .describe('certificates of its CAs, in any order: base64 of the DER of one, or PEM text with one or several; at most 16 in all'),
    requestID: RequestId.optional(),
  })
  .refine(({ parameters, signerCertificate }) => signerCertificate !== undefined || !bindsCertificate(parameters), {
    path: ['signerCertificate'],
    message: 'required: what is signed names the certificate',
    // A missing field is told before wrong ones, so it is looked for beside those.
    when: ({ value }) => typeof value === 'object' && value !== null,
  });

/** Opens a signature whose values are made elsewhere: answers what is to be signed (contract §5). */
export const remotePreSign = operation({
  path: 'signature/remotePreSign',
  role: 'signature',
  spelling: 'resultMajor',
  takesIdempotencyKey: false,
  summary: 'Prepares a signature whose value is made elsewhere, with a key that this service does not have: answers what is to be signed.',
  request: RemotePreSignRequest,
  example: {
    parameters: { rawSignature: { rawSignatureParameters: { signatureAlgorithmOid: oids.ecdsaWithSHA256 } } },
    inputDocuments: [{ ID: 'contract', fileName: 'contract.txt', plainData: { plainValue: 'Signed in Paris.' } }],
  },
  answer: z.strictObject({
    signatureThreadId: z
      .string()
      .describe('names the session that remoteSign completes; who knows it can complete it, so keep it like a password'),
    signerData: z.strictObject({
      digest: z.array(DigestEntryToSign).max(documentsAbsoluteMax).describe('one entry for each value that remoteSign needs'),
    }),
  }),
  async run({ parameters, inputDocuments, signerCertificate, certificateChain }, context) {
    const { caller, config, sessions } = context;
    const asked = askedSignature({ parameters, inputDocuments }, context);
    if (signerCertificate === undefined && certificateChain !== undefined) {
      throw new Refusal('FIELDS_INCONSISTENT', {
        at: '/certificateChain',
        message: 'a chain is that of a signerCertificate, and there is none',
      });
    }
    const [certificate, ...above] = signerCertificate ?? [];
    const chain = [...above, ...(certificateChain ?? []).flat()];
    if (chain.length > maxChainCertificates) {
      const message = `these are ${chain.length} certificates, and at most ${maxChainCertificates} are taken`;
      throw new Refusal('FIELD_INVALID', { at: '/certificateChain', message });
    }
    const signer = certificate === undefined ? undefined : externalSigner({ certificate, chain, trustedCa: trustedCaOf(asked) }, context);
    const prepare = signer === undefined ? bare(asked, inputDocuments) : bySigner(asked, inputDocuments, signer);
    context.audit.key = signer?.chain.certificate.sha1Fingerprint;

    const opened = await openDocuments(inputDocuments, context);
    try {
      const { digests, ...session } = await prepare(opened.documents, context);
      const owner = { tenant: caller.tenant, client: caller.spkiSha256 };
      const toBeOpened = { ...session, check: async () => opened.checkUnchanged() };
      const signatureThreadId = await sessions.open(owner, toBeOpened, config.sessions);
      return { signatureThreadId, signerData: { digest: digests.map(digestEntry) } };
    } finally {
      await opened.close();
    }
  },
});

type Prepare = (documents: readonly InputDocument[], context: Context) => Promise<PreparedSession>;

/** @throws {Refusal} FIELDS_INCONSISTENT, CERTIFICATE_STATUS_REFUSED */
function bySigner(asked: AskedSignature, fields: readonly InputDocumentField[], signer: ExternalSigner): Prepare {
  const plan = signingPlan(asked, fields, signer);
  checkValidNow(signer, new Date());
  return async (documents, context) => {
    const session = await prepareSession(plan, documents, signer, context);
    if (asked.level !== undefined) context.levels.check(asked.level, signer.chain, plan.algorithm);
    return session;
  };
}

/** @throws {Refusal} FIELDS_INCONSISTENT */
function bare(asked: AskedSignature, fields: readonly InputDocumentField[]): Prepare {
  if (asked.kind !== 'raw') throw new Error('the schema wants a certificate');
  const { algorithm } = asked;
  checkBareDigests(fields, algorithm);
  return async (documents, context) => prepareBareSession(documents, algorithm, context);
}

/** Whether the certificate is a part of what is signed. */
function bindsCertificate(parameters: unknown): boolean {
  return typeof parameters === 'object' && parameters !== null && ('XP7Signature' in parameters || 'envelopedXAdESSignature' in parameters);
}
