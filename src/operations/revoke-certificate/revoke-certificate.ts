import { createHash } from 'node:crypto';
import { z } from 'zod';
import { DerError } from '../../asn1/reader.ts';
import { revocationReasons } from '../../certificates/revocation-reasons.ts';
import type { RevocationChange } from '../../certificates/revocations.ts';
import { parseCertificateText } from '../../certificates/x509.ts';
import { requiredSecret, type GivenSecret } from '../../keys/credentials.ts';
import { parseKeyReferenceId, type KeyRecord } from '../../keys/key-record.ts';
import { Refusal } from '../../result-codes.ts';
import { Base64, Secret, Text } from '../fields/values.ts';
import { operation, type Context } from '../operation.ts';

const RevokeCertificateRequest = z.strictObject({
  certificate: Base64,
  requestID: Text.optional(),
  password: Secret.optional(),
  transactionId: Secret.optional(),
  authToken: Secret.optional(),
  reason: z.enum(revocationReasons).default('UNSPECIFIED'),
});
type RevokeCertificateRequest = z.output<typeof RevokeCertificateRequest>;

/** Revokes a certificate, puts it on hold, or releases it; its key stops at once (contract §7). */
export const revokeCertificate = operation({
  path: 'pki/revokeCertificate',
  role: 'revocation',
  spelling: 'majorCode',
  takesIdempotencyKey: true,
  summary: 'Revokes a certificate, puts it on hold, or releases it from hold; its key stops, or works again, at once.',
  request: RevokeCertificateRequest,
  example: { certificate: 'MIIB8DCCAZag', reason: 'KEY_COMPROMISE' },
  answer: z.strictObject({
    date: z.int().describe('date of revocation as CRLs tell it, or of the release: milliseconds since epoch, full seconds'),
  }),
  async run(request, context) {
    const { caller, keys, revocations, audit } = context;
    const der = certificateIn(request);
    checkSecrets(request);
    const certificate = await revocations.find(caller.tenant, der);
    audit.key = certificate.sha1;
    audit.digests.push(`sha256:${createHash('sha256').update(der).digest('hex')}`);
    revocations.check(certificate, request.reason);
    const key = await keys.find(caller.tenant, parseKeyReferenceId(certificate.sha1));
    const given = await authorise(key, request, context);
    const answer = (date: Date) => ({ date: date.getTime() });
    // A secret is used up in the commit that revokes: a crash leaves both done, or neither.
    const commit = given === undefined ? undefined : async (change: RevocationChange) => keys.authoriseRevocation(key, given, change);
    const date = await revocations.change(certificate, request.reason, answer, commit);
    await keys.stateChanged(key);
    return answer(date);
  },
});

/** @throws {Refusal} FIELD_INVALID */
function certificateIn({ certificate }: RevokeCertificateRequest): Uint8Array {
  try {
    return parseCertificateText(certificate).der;
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Refusal('FIELD_INVALID', { at: '/certificate', message: 'not a certificate: base64 of its DER, or of PEM text' });
  }
}

/** @throws {Refusal} FIELDS_INCONSISTENT */
function checkSecrets({ password, authToken }: RevokeCertificateRequest): void {
  if (password === undefined || authToken === undefined) return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    at: '/authToken',
    message: 'a key is activated by a password or an authToken, and both are given',
  });
}

/**
 * The role is enough, unless the tenant wants the secret; one that is sent must be right, and so must the transaction of a key that is tied to one.
 * Answers the secret that is to be verified.
 * @throws {Refusal} KEY_LOCKED, FIELD_MISSING, ACTIVATION_FAILED
 */
async function authorise(
  key: KeyRecord,
  request: RevokeCertificateRequest,
  { caller, config, keys }: Context,
): Promise<GivenSecret | undefined> {
  const isSent = request.password !== undefined || request.authToken !== undefined;
  if (isSent || config.tenants[caller.tenant]?.revocationNeedsSecret === true) {
    keys.checkUsable(key, 'revoke');
    return requiredSecret(key, 'REVOKE', request, '');
  }
  await keys.authoriseTransaction(key, request.transactionId);
  return undefined;
}
