import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DerError } from '../../asn1/reader.ts';
import { revocationReasons } from '../../certificates/revocation-reasons.ts';
import type { RevocationChange } from '../../certificates/revocations.ts';
import { readCertificateText } from '../../x509/certificate.ts';
import { requiredSecret, type GivenSecret } from '../../keys/credentials.ts';
import { parseKeyReferenceId, type KeyRecord, type KeyReferenceId } from '../../keys/key-record.ts';
import { Refusal } from '../../result-codes.ts';
import { Base64, Secret, RequestId } from '../../fields/values.ts';
import { operation, type Context } from '../operation.ts';

const RevokeCertificateRequest = z.strictObject({
  certificate: Base64.describe('the certificate: base64 of its DER, or of PEM text'),
  requestID: RequestId.optional(),
  password: Secret.optional().describe("the key's password, or a one-time password for REVOKE; verified if given"),
  transactionId: Secret.optional().describe('transaction that the key is bound to; required if it is bound to one'),
  authToken: Secret.optional().describe('the secret of a key of SINGLE_USE; verified if given'),
  reason: z
    .enum(revocationReasons)
    .meta({ id: 'RevocationReason', description: 'why a certificate is revoked' })
    .default('UNSPECIFIED')
    .describe('CERTIFICATE_HOLD can be lifted by REMOVE_FROM_CRL; UNUSED is published as unspecified'),
});
type RevokeCertificateRequest = z.output<typeof RevokeCertificateRequest>;

/**
 * Revokes a certificate, puts it on hold or releases it, with immediate effect on its key (contract
 * §7).
 */
export const revokeCertificate = operation({
  path: 'pki/revokeCertificate',
  role: 'revocation',
  spelling: 'majorCode',
  takesIdempotencyKey: true,
  summary: 'Revokes a certificate, puts it on hold or releases it from hold; its key is disabled or enabled immediately.',
  request: RevokeCertificateRequest,
  example: { certificate: 'MIIB8DCCAZag', reason: 'KEY_COMPROMISE' },
  answer: z.strictObject({
    date: z.int().describe('date of the revocation as in CRLs, or of the release: milliseconds since 1970 (UTC), in full seconds'),
  }),
  async run(request, context) {
    const { caller, keys, revocations, audit } = context;
    const der = certificateIn(request);
    checkSecrets(request);
    const certificate = await revocations.find(caller.tenant, der);
    audit.key = certificate.sha1;
    audit.digests.push(`sha256:${createHash('sha256').update(der).digest('hex')}`);
    revocations.check(certificate, request.reason);
    const answer = (date: Date) => ({ date: date.getTime() });
    const key = await keyOf(parseKeyReferenceId(certificate.sha1), request, context);
    if (key === undefined) return answer(await revocations.change(certificate, request.reason, answer));
    const given = await authorise(key, request, context);
    // The commit that revokes also consumes the secret: after a crash both are done, or neither.
    const commit = given === undefined ? undefined : async (change: RevocationChange) => keys.revocation.authorise(key, given, change);
    const date = await revocations.change(certificate, request.reason, answer, commit);
    await keys.stateChanged(key);
    return answer(date);
  },
});

/**
 * Returns the key of the certificate. Returns undefined if the row of the key was tampered with but
 * the role alone suffices, so that tampering cannot prevent revocation. The audit record mentions
 * the row in any case.
 * @throws {Refusal} ACTIVATION_FAILED for such a row if a secret must be verified or a hold lifted
 */
async function keyOf(
  reference: KeyReferenceId,
  request: RevokeCertificateRequest,
  { caller, config, keys }: Context,
): Promise<KeyRecord | undefined> {
  try {
    return await keys.find(caller.tenant, reference);
  } catch (error) {
    const isTampered = error instanceof Refusal && error.code === 'ACTIVATION_FAILED';
    const needsKey = needsSecret(request, caller.tenant, config) || request.reason === 'REMOVE_FROM_CRL';
    if (!isTampered || needsKey) throw error;
    return undefined;
  }
}

function needsSecret({ password, authToken }: RevokeCertificateRequest, tenant: string, { tenants }: Context['config']): boolean {
  return password !== undefined || authToken !== undefined || tenants[tenant]?.revocationNeedsSecret === true;
}

/** Reads the certificate. @throws {Refusal} FIELD_INVALID */
function certificateIn({ certificate }: RevokeCertificateRequest): Uint8Array {
  try {
    return readCertificateText(certificate).der;
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Refusal('FIELD_INVALID', { at: '/certificate', message: 'not a certificate: base64 of its DER, or of PEM text' });
  }
}

/** Checks that there is only one secret. @throws {Refusal} FIELDS_INCONSISTENT */
function checkSecrets({ password, authToken }: RevokeCertificateRequest): void {
  if (password === undefined || authToken === undefined) return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: '/authToken',
    message: 'password and authToken exclude each other',
  });
}

/**
 * Checks the authorisation. The role suffices unless the tenant requires the secret; a given secret
 * must be correct, and so must the transaction of a key that is bound to one. Returns the secret to
 * be verified.
 * @throws {Refusal} KEY_LOCKED, FIELD_MISSING, ACTIVATION_FAILED
 */
async function authorise(
  key: KeyRecord,
  request: RevokeCertificateRequest,
  { caller, config, keys }: Context,
): Promise<GivenSecret | undefined> {
  if (needsSecret(request, caller.tenant, config)) {
    keys.checkUsable(key, 'revoke');
    return requiredSecret(key, 'REVOKE', request, '');
  }
  await keys.revocation.authoriseByTransaction(key, request.transactionId);
  return undefined;
}
