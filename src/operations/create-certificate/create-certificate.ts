import { createHash } from 'node:crypto';
import { z } from 'zod';
import { issuingChainRow } from '../../certificates/chains.ts';
import { distinguishedNameText } from '../../x509/distinguished-name.ts';
import { certificateExtensions } from '../../certificates/extensions.ts';
import { certificateInFormat } from '../../certificates/formats.ts';
import { issueCertificate, rehearse, validity } from '../../certificates/issue.ts';
import { refusalOfUse } from '../../certificates/jwt/used-tokens.ts';
import { Pkcs10 } from '../../certificates/pkcs10.ts';
import { subjectName } from '../../certificates/subject.ts';
import { checkSubject } from '../../certificates/subject-rules.ts';
import type { CreatedKey, NewKey } from '../../keys/new-key.ts';
import { Refusal } from '../../result-codes.ts';
import { activationProtocols } from '../../keys/key-record.ts';
import { boundDigests, SignerData } from '../fields/bound-digests.ts';
import { exactlyOneOf } from '../../fields/documented.ts';
import { Secret, Sha1Hex, RequestId, Text } from '../../fields/values.ts';
import { operation, type Context } from '../operation.ts';
import type { RequestedSubject } from '../../certificates/jwt/claim-mapping.ts';
import { refusedToken } from '../../certificates/jwt/compact.ts';
import type { GivenToken } from '../../certificates/jwt/identity-providers.ts';
import type { Step } from '../../state/step.ts';

const CertificateFormat = z
  .enum(['CERTIFICATE', 'PKCS_7', 'PKCS_7_WITH_CHAIN'])
  .meta({ id: 'CertificateFormat', description: 'form in which a certificate is returned' });

const ActivationProtocol = z.enum(activationProtocols).meta({ id: 'SignatureActivationProtocol', description: 'how the key is activated' });

const JsonWebToken = z
  .strictObject({
    token: Text.describe('the token as issued'),
    password: Secret.optional().describe('opens an encrypted token'),
  })
  .meta({ id: 'IdentityToken', description: 'a token of an identity provider, whose claims name the subject and the subscriber' });

const CertificationRequestInfo = z
  .strictObject({
    signatureActivationProtocol: ActivationProtocol.describe(
      'PASSWORD: the answer contains a password; OTP: sendOTP creates a one-time password for each use; SINGLE_USE: the answer contains an authToken for one call',
    ),
    validityPeriod: z
      .int()
      .positive()
      .optional()
      .describe("minutes; default: that of the profile; limited to the profile's maximum and to the end of the CA certificate"),
    transactionId: Secret.optional().describe('binds the key to a transaction: it is required again for each use; 1 to 1024 bytes'),
    JWT: JsonWebToken.optional(),
    PKCS10: Pkcs10.optional(),
  })
  .meta({
    id: 'CertificationRequestInfo',
    description: 'the key, and its subject: either PKCS10 or JWT',
    ...exactlyOneOf({ PKCS10: 'CertificationRequestWithPKCS10', JWT: 'CertificationRequestWithJWT' }),
  });

const CreateCertificateRequest = z.strictObject({
  certificationRequestInfo: CertificationRequestInfo,
  certificateFormat: CertificateFormat.describe(
    'CERTIFICATE: DER; PKCS_7: SignedData with the certificate; PKCS_7_WITH_CHAIN: with the certificate and its chain',
  ),
  signerData: SignerData.optional().describe('binds the key to documents; default: it signs any'),
  requestID: RequestId.optional(),
});
type CreateCertificateRequest = z.output<typeof CreateCertificateRequest>;

const info = '/certificationRequestInfo';

/** Creates a key on the token and issues its certificate (contract §6, §7). */
export const createCertificate = operation({
  path: 'pki/createCertificate',
  role: 'keys',
  spelling: 'majorCode',
  takesIdempotencyKey: true,
  summary: 'Creates a key on the token and issues its certificate.',
  request: CreateCertificateRequest,
  example: {
    certificationRequestInfo: {
      signatureActivationProtocol: 'PASSWORD',
      validityPeriod: 60,
      PKCS10: { subject: { country: 'FR', commonName: 'Zoé Martin' }, attributes: { subscriber: { emailAddress: 'zoe@example.org' } } },
    },
    certificateFormat: 'CERTIFICATE',
  },
  answer: z.strictObject({
    keyReference: z
      .strictObject({
        reference: Sha1Hex.describe('SHA-1 of the certificate: identifies the key from now on'),
        password: z.string().optional().describe('the secret of a key of PASSWORD, returned only once'),
        authToken: z.string().optional().describe('the secret of a key of SINGLE_USE, returned only once'),
        transactionId: Secret.optional().describe('the transaction of the request'),
      })
      .meta({ id: 'CreatedKeyReference', description: 'the new key, as other requests take it' }),
    certificate: z.base64().describe('the certificate in the requested format'),
    certificateFormat: CertificateFormat.describe('as requested'),
    name: z.string().describe('the subject of the certificate (RFC 4514)'),
  }),
  async run(request, context) {
    checkOneSubject(request);
    const { name, profile, issuer, authority, allowSha1, keysMax } = tenantOf(context);
    const { documentsMax } = context.config.limits;
    const binding = request.signerData === undefined ? undefined : boundDigests(request.signerData, { allowSha1, documentsMax });
    const { requested: pkcs10, steps, judged } = await requestedSubject(request.certificationRequestInfo, context);
    const subject = judged(() => {
      checkSubject(profile, pkcs10.subject);
      return subjectName(pkcs10.subject);
    });
    const { notBefore, notAfter } = validity(
      profile,
      request.certificationRequestInfo.validityPeriod,
      new Date(),
      issuer.certificate.notAfter,
    );
    const content = (subjectPublicKeyInfo: Uint8Array) => ({
      subject,
      extensions: certificateExtensions(profile, issuer, subjectPublicKeyInfo, pkcs10.attributes, issuer.urls),
      notBefore,
      notAfter,
    });
    // The whole certificate is built once before the key is created, so that a refused request
    // costs no key.
    judged(() => {
      rehearse(issuer, profile.keyType, content);
    });
    const { transactionId } = request.certificationRequestInfo;
    const answer = ({ reference, secret, certificate }: CreatedKey) => ({
      keyReference: { reference, ...secret, ...(transactionId === undefined ? {} : { transactionId }) },
      certificate: Buffer.from(certificateInFormat(certificate, issuer.chain, request.certificateFormat)).toString('base64'),
      certificateFormat: request.certificateFormat,
      name: distinguishedNameText(subject),
    });
    const newKey: NewKey = {
      tenant: name,
      type: profile.keyType,
      protocol: request.certificationRequestInfo.signatureActivationProtocol,
      transactionId,
      binding,
      keysMax,
      subscriber: pkcs10.attributes.subscriber,
      steps,
      async issue(publicKeyInfo) {
        const serialNumber = await context.token.random(16);
        const der = await issueCertificate(issuer, { ...content(publicKeyInfo), subjectPublicKeyInfo: publicKeyInfo, serialNumber });
        const sha1 = createHash('sha1').update(der).digest('hex');
        context.audit.key = sha1;
        context.audit.digests.push(`sha256:${createHash('sha256').update(der).digest('hex')}`);
        return {
          row: {
            sha1,
            tenant: name,
            authority,
            serial_number: Buffer.from(serialNumber).toString('hex'),
            der,
            not_before: notBefore.getTime(),
            not_after: notAfter.getTime(),
          },
          issuers: issuingChainRow(issuer),
        };
      },
    };
    try {
      return await context.keys.create(newKey, answer);
    } catch (error) {
      throw refusalOfUse(error);
    }
  },
});

/** @throws {Refusal} FIELDS_INCONSISTENT */
function checkOneSubject({ certificationRequestInfo: { JWT, PKCS10 } }: CreateCertificateRequest): void {
  if ((JWT === undefined) !== (PKCS10 === undefined)) return;
  throw new Refusal('FIELDS_INCONSISTENT', { at: info, message: 'exactly one of JWT and PKCS10 is required' });
}

function tenantOf({ caller, config, authorities }: Context) {
  const tenant = config.tenants[caller.tenant];
  const issuer = tenant === undefined ? undefined : authorities.get(tenant.certificateAuthority);
  if (tenant === undefined || issuer === undefined) throw new Error(`tenant ${caller.tenant} is not configured`);
  const { profile, certificateAuthority: authority, allowSha1, keysMax } = tenant;
  return { name: caller.tenant, profile, issuer, authority, allowSha1, keysMax };
}

/** The requested subject, whatever its source. */
interface AskedSubject {
  readonly requested: RequestedSubject;
  /** Steps for the commit that creates the key. */
  readonly steps: readonly Step[];
  /**
   * Runs checks of the subject, so that a refusal points to what the request contains: a field or
   * the token.
   */
  readonly judged: <T>(work: () => T) => T;
}

/** Returns the requested subject. @throws {Refusal} as `IdentityProviders.read` */
async function requestedSubject(
  { JWT, PKCS10 }: { readonly JWT?: GivenToken | undefined; readonly PKCS10?: RequestedSubject | undefined },
  { caller, config, identityProviders, audit }: Context,
): Promise<AskedSubject> {
  if (PKCS10 !== undefined) return { requested: PKCS10, steps: [], judged: (work) => work() };
  if (JWT === undefined) throw new Error('a request has a subject');
  const tenant = config.tenants[caller.tenant];
  const allowed = { identityProviders: tenant?.identityProviders ?? [], defaultCountry: tenant?.profile.subject.defaultCountry };
  return { ...(await identityProviders.read(JWT, allowed, audit)), judged: ofToken };
}

/**
 * Runs checks of claims. The request contains the token, not the claims, so a refusal points to the
 * token.
 */
function ofToken<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Refusal) || error.at === undefined || (error.code !== 'ISSUANCE_REFUSED' && error.code !== 'FIELD_INVALID'))
      throw error;
    throw refusedToken(error.text, error);
  }
}
