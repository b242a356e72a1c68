import { createHash } from 'node:crypto';
import { z } from 'zod';
import { distinguishedNameText } from '../../certificates/distinguished-name.ts';
import { certificateExtensions } from '../../certificates/extensions.ts';
import { certificateInFormat } from '../../certificates/formats.ts';
import { issueCertificate, validity } from '../../certificates/issue.ts';
import { Pkcs10 } from '../../certificates/pkcs10.ts';
import { subjectName } from '../../certificates/subject.ts';
import type { CreatedWithPassword } from '../../keys/keyring.ts';
import { Refusal } from '../../result-codes.ts';
import { DigestEntry, Sha1Hex, Text } from '../fields/values.ts';
import { operation, type Context } from '../operation.ts';

const protocols = ['PASSWORD', 'OTP', 'SINGLE_USE'] as const;

const CertificateFormat = z.enum(['CERTIFICATE', 'PKCS_7', 'PKCS_7_WITH_CHAIN']);

const CreateCertificateRequest = z.strictObject({
  certificationRequestInfo: z.strictObject({
    signatureActivationProtocol: z.enum(protocols),
    validityPeriod: z.int().positive().optional(),
    transactionId: Text.optional(),
    JWT: z.strictObject({ token: Text, password: Text.optional() }).optional(),
    PKCS10: Pkcs10.optional(),
  }),
  certificateFormat: CertificateFormat,
  signerData: z.strictObject({ digest: z.array(DigestEntry) }).optional(),
  requestID: Text.optional(),
});
type CreateCertificateRequest = z.output<typeof CreateCertificateRequest>;

const info = '/certificationRequestInfo';

/** Creates a key on the token and issues its certificate (contract §6, §7). */
export const createCertificate = operation({
  path: 'pki/createCertificate',
  role: 'keys',
  spelling: 'majorCode',
  takesIdempotencyKey: true,
  summary: 'Makes a key on the token and issues its certificate.',
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
    keyReference: z.strictObject({
      reference: Sha1Hex.describe('SHA-1 of the certificate: names the key from now on'),
      password: z.string().describe('the secret of the key, shown this once'),
    }),
    certificate: z.base64().describe('the certificate in the format asked for'),
    certificateFormat: CertificateFormat,
    name: z.string().describe('the subject of the certificate (RFC 4514)'),
  }),
  async run(request, context) {
    const pkcs10 = checkOffered(request);
    const { name, profile, issuer, authority } = tenantOf(context);
    const subject = subjectName(pkcs10.subject);
    const { notBefore, notAfter } = validity(
      profile,
      request.certificationRequestInfo.validityPeriod,
      new Date(),
      issuer.certificate.notAfter,
    );
    // Extensions are built once before the key is made, so that a request that the profile refuses costs no key.
    certificateExtensions(profile, issuer, issuer.certificate.subjectPublicKeyInfo, pkcs10.attributes);
    let der: Uint8Array = new Uint8Array();
    const answer = ({ reference, password }: CreatedWithPassword) => ({
      keyReference: { reference, password },
      certificate: Buffer.from(certificateInFormat(der, issuer.chain, request.certificateFormat)).toString('base64'),
      certificateFormat: request.certificateFormat,
      name: distinguishedNameText(subject),
    });
    const created = await context.keys.createWithPassword({
      tenant: name,
      type: profile.keyType,
      subscriber: pkcs10.attributes.subscriber,
      async issue(publicKeyInfo) {
        const serialNumber = await context.token.random(16);
        der = await issueCertificate(issuer, {
          subject,
          subjectPublicKeyInfo: publicKeyInfo,
          extensions: certificateExtensions(profile, issuer, publicKeyInfo, pkcs10.attributes),
          notBefore,
          notAfter,
          serialNumber,
        });
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
        };
      },
      answer,
    });
    return answer(created);
  },
});

/** @throws {Refusal} FIELDS_INCONSISTENT, UNSUPPORTED */
function checkOffered({ certificationRequestInfo, signerData }: CreateCertificateRequest): z.output<typeof Pkcs10> {
  const { JWT, PKCS10, signatureActivationProtocol, transactionId } = certificationRequestInfo;
  if ((JWT === undefined) === (PKCS10 === undefined)) {
    throw new Refusal('FIELDS_INCONSISTENT', { at: info, message: 'the subject comes from exactly one of JWT and PKCS10' });
  }
  if (signatureActivationProtocol !== 'PASSWORD') throw unsupported(`${info}/signatureActivationProtocol`, 'PASSWORD is');
  if (transactionId !== undefined) throw unsupported(`${info}/transactionId`, 'keys tied to no transaction are');
  if (PKCS10 === undefined) throw unsupported(`${info}/JWT`, 'PKCS10 is');
  if (signerData !== undefined) throw unsupported('/signerData', 'keys that are not bound to digests are');
  return PKCS10;
}

function unsupported(at: string, offered: string): Refusal {
  return new Refusal('UNSUPPORTED', { at, message: `not offered by this version; ${offered}` });
}

function tenantOf({ caller, config, authorities }: Context) {
  const tenant = config.tenants[caller.tenant];
  const issuer = tenant === undefined ? undefined : authorities.get(tenant.certificateAuthority);
  if (tenant === undefined || issuer === undefined) throw new Error(`tenant ${caller.tenant} is not configured`);
  return { name: caller.tenant, profile: tenant.profile, issuer, authority: tenant.certificateAuthority };
}
