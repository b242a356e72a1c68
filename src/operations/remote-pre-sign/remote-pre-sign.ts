import { z } from 'zod';
import { oids } from '../../asn1/object-identifiers.ts';
import { documentsAbsoluteMax } from '../../config/limits-config.ts';
import { Refusal } from '../../result-codes.ts';
import { rulesOfCertificate } from '../../twoddoc/identities/digital-identity.ts';
import { CertificatesField } from '../fields/certificate-field.ts';
import { askedSigning, InputDocuments } from '../fields/input-documents.ts';
import { checkIdentityOf, checksIdentity } from '../fields/digital-identity.ts';
import { openDocuments } from '../fields/open-documents.ts';
import { having, where } from '../../fields/documented.ts';
import { RequestId, ObjectIdentifier } from '../../fields/values.ts';
import { operation } from '../operation.ts';
import { bindsCertificate, SignatureParameters } from '../../signatures/request/parameters.ts';
import { prepareSignatures } from '../../signatures/prepare-signatures.ts';
import { auditedDigests, evidenceNotices, planWithoutSigner, signerPlan } from '../../signatures/signatures.ts';
import { checkValidNow, externalSigner } from './external-signer.ts';
import { maxChainCertificates, presentedCertificates } from './presented-certificates.ts';
import { hashAlgorithmOid, signatureAlgorithmOid } from '../../cms/algorithm-identifier.ts';
import type { Prepared } from '../../signatures/format.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';

const RemotePreSignRequest = z
  .strictObject({
    parameters: SignatureParameters,
    inputDocuments: InputDocuments,
    signerCertificate: CertificatesField.optional().describe(
      'certificate of the signer, from any CA: base64 of its DER, or PEM text, which may continue with those of its CAs; required except for rawSignature and code2DDocSignature',
    ),
    certificateChain: z
      .array(CertificatesField)
      .max(maxChainCertificates)
      .optional()
      .describe('certificates of its CAs in any order, each entry base64 of DER or PEM text with one or more; at most 16 in total'),
    requestID: RequestId.optional(),
  })
  .refine(({ parameters, signerCertificate }) => signerCertificate !== undefined || !bindsCertificate(parameters), {
    path: ['signerCertificate'],
    message: 'required: the signed data names the certificate',
    // Missing fields are reported before invalid ones, so this is checked even if there are issues.
    when: ({ value }) => typeof value === 'object' && value !== null,
  })
  .meta({
    ...where(
      having({ parameters: { anyOf: [having({ XP7Signature: {} }), having({ envelopedXAdESSignature: {} })] } }),
      having({ signerCertificate: {} }),
    ),
    dependentRequired: { certificateChain: ['signerCertificate'] },
  });

/** An entry of `signerData.digest`, as handed to a device. */
const DigestEntryToSign = z
  .strictObject({
    id: z.string().describe('ID of the document, by which the signature value is returned'),
    digestAlgOID: ObjectIdentifier.describe('hash of dataToSign'),
    digestValue: z.base64().describe('the digest that the device signs'),
    dataToSign: z
      .base64()
      .optional()
      .describe('the data that digestValue is computed from, for devices that compute the hash themselves; absent from 64 KiB on'),
    signatureAlgorithmOid: ObjectIdentifier.optional().describe('absent if neither a certificate nor the parameters determine it'),
  })
  .meta({ id: 'DigestToSign', description: 'a digest that the device signs' });

const DataToSign = z
  .strictObject({
    digest: z.array(DigestEntryToSign).max(documentsAbsoluteMax).describe('one entry for each value that remoteSign needs'),
  })
  .meta({ id: 'DataToSign', description: 'the digests that the device signs' });

/** Returns the entry for a device. `algorithm` is undefined if it is unknown. */
function digestEntry(
  { id, hash, digest, dataToSign }: Prepared<unknown>,
  algorithm: SignatureAlgorithm | undefined,
): z.output<typeof DigestEntryToSign> {
  return {
    id,
    digestAlgOID: hashAlgorithmOid(hash),
    digestValue: Buffer.from(digest).toString('base64'),
    ...(dataToSign === undefined ? {} : { dataToSign: Buffer.from(dataToSign).toString('base64') }),
    ...(algorithm === undefined ? {} : { signatureAlgorithmOid: signatureAlgorithmOid(algorithm) }),
  };
}

/**
 * Prepares a signature whose values are made elsewhere: returns the data to be signed (contract
 * §5).
 */
export const remotePreSign = operation({
  path: 'signature/remotePreSign',
  role: 'signature',
  spelling: 'resultMajor',
  takesIdempotencyKey: false,
  summary: 'Prepares a signature whose value is made elsewhere, with a key that this service does not have: returns the data to be signed.',
  request: RemotePreSignRequest,
  example: {
    parameters: { rawSignature: { rawSignatureParameters: { signatureAlgorithmOid: oids.ecdsaWithSHA256 } } },
    inputDocuments: [{ ID: 'contract', fileName: 'contract.txt', plainData: { plainValue: 'Signed in Paris.' } }],
  },
  answer: z.strictObject({
    signatureThreadId: z
      .string()
      .describe('identifies the session that remoteSign completes; anyone who knows it can complete it, so protect it like a password'),
    signerData: DataToSign,
  }),
  async run({ parameters, inputDocuments, signerCertificate, certificateChain }, context) {
    const { caller, config, sessions } = context;
    const { asked, documents } = askedSigning({ parameters, inputDocuments }, context);
    if (signerCertificate === undefined && certificateChain !== undefined) {
      throw new Refusal('FIELDS_INCONSISTENT', {
        at: '/certificateChain',
        message: 'a chain needs a signerCertificate',
      });
    }
    if (signerCertificate === undefined && checksIdentity(parameters)) {
      throw new Refusal('FIELDS_INCONSISTENT', {
        at: '/parameters/code2DDocSignature/code2DDocParameters/checkDigitalIdentity',
        message: 'this needs a signerCertificate, which is compared with the header',
      });
    }
    const [own, ...chain] = presentedCertificates(signerCertificate, certificateChain);
    const signer = own === undefined ? undefined : await externalSigner([own, ...chain], asked.trustedCa?.fingerprint, context);
    const plan = signer === undefined ? planWithoutSigner(asked, documents) : signerPlan(asked, documents, signer);
    if (signer !== undefined) checkValidNow(signer, new Date());
    context.audit.key = signer?.chain.certificate.sha1Fingerprint;

    const opened = await openDocuments(inputDocuments, context);
    try {
      const signatures = await prepareSignatures(plan, opened.documents, context.threads);
      const { prepared, algorithm, chain: signerChain } = signatures;
      context.audit.digests.push(...auditedDigests(signatures));
      context.notices.push(...evidenceNotices(prepared));
      if (signerChain !== undefined && checksIdentity(parameters)) checkIdentityOf(signatures, rulesOfCertificate(signerChain.certificate));
      if (asked.level !== undefined && signerChain !== undefined && algorithm !== undefined)
        await context.levels.check(asked.level, signerChain, algorithm);
      const toBeOpened = {
        state: { documents: opened.documents, signatures },
        check: async () => opened.checkUnchanged(),
      };
      const owner = { tenant: caller.tenant, client: caller.spkiSha256 };
      const signatureThreadId = await sessions.open(owner, toBeOpened, config.sessions);
      return { signatureThreadId, signerData: { digest: prepared.map((one) => digestEntry(one, algorithm)) } };
    } finally {
      await opened.close();
    }
  },
});
