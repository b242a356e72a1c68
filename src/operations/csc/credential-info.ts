import { z } from 'zod';
import { oids } from '../../asn1/object-identifiers.ts';
import { ecdsaOids, rsaOids } from '../../x509/signature-identifier.ts';
import { distinguishedNameText } from '../../x509/distinguished-name.ts';
import type { KeyType } from '../../config/key-types.ts';
import type { KeyRecord } from '../../keys/key-record.ts';
import type { Context } from '../operation.ts';
import { authorisationOf, credentialChain, credentialKey, credentialStatus, signaturesMax, type Authorisation } from './credential.ts';
import { Certificates, ClientData, CredentialId, exampleCredential, Language, SecretName, signedHashes } from './parameters.ts';
import { cscOperation } from './csc-operation.ts';

const Yes = z.boolean().optional();

/** What of a credential is asked for. */
export const wantedFields = {
  certificates: Certificates,
  certInfo: Yes.describe('whether the answer has the names and the validity of the certificate; default: false'),
  authInfo: Yes.describe('whether the answer says how signatures are authorised; default: false'),
};
export type Wanted = Readonly<{ [Name in keyof typeof wantedFields]?: z.output<(typeof wantedFields)[Name]> }>;

const InfoRequest = z.strictObject({ credentialID: CredentialId, ...wantedFields, lang: Language, clientData: ClientData });

const KeyInfo = z
  .strictObject({
    status: z.enum(['enabled', 'disabled']).meta({ id: 'CscKeyStatus', description: 'whether the key may sign now' }),
    algo: z.array(z.string()).describe('object identifiers of its signature algorithms'),
    len: z.int().describe('length of the key in bits'),
    curve: z.string().optional().describe('object identifier of its curve'),
  })
  .meta({ id: 'CscKey', description: 'the key of a credential' });

const CertificateInfo = z
  .strictObject({
    status: z
      .enum(['valid', 'expired', 'revoked', 'suspended'])
      .meta({ id: 'CscCertificateStatus', description: 'status of the certificate' }),
    certificates: z.array(z.string()).optional().describe('certificates, DER, base64; that of the key first'),
    issuerDN: z.string().optional().describe('name of the issuer (RFC 4514)'),
    serialNumber: z.string().optional().describe('serial number, hexadecimal'),
    subjectDN: z.string().optional().describe('name of the subject (RFC 4514)'),
    validFrom: z.string().optional().describe('start of the validity, YYYYMMDDHHMMSSZ'),
    validTo: z.string().optional().describe('end of the validity, YYYYMMDDHHMMSSZ'),
  })
  .meta({ id: 'CscCertificate', description: 'the certificate of a credential' });

const common = {
  key: KeyInfo,
  cert: CertificateInfo,
  SCAL: z.literal('2').describe('2: signatures are authorised for given hashes alone'),
  multisign: z.int().describe('the most signatures of one authorisation'),
  lang: z.string().describe('language of the texts'),
};

const Presence = z
  .enum(['true', 'false', 'optional'])
  .meta({ id: 'CscPresence', description: 'true: required; optional: one of PIN and OTP is required; false: the credential has none' });
const Label = z.string().describe('what it is, for people');
const Explanation = z.string().describe('what it is, in more words');
const InfoAnswerV1 = z.strictObject({
  ...common,
  authMode: z.literal('explicit').describe('signatures are authorised with credentials/authorize'),
  PIN: z
    .strictObject({
      presence: Presence,
      format: z.literal('A').describe('A: letters, digits and other characters'),
      label: Label,
      description: Explanation,
    })
    .meta({ id: 'CscPin', description: 'the PIN of a credential' })
    .optional(),
  OTP: z
    .strictObject({
      presence: Presence,
      type: z.literal('online').describe('it is made by the service, and sent on request'),
      ID: z.literal('OTP').describe('its name'),
      provider: z.string().describe('who sends it'),
      format: z.literal('N').describe('N: digits'),
      label: Label,
      description: Explanation,
    })
    .meta({ id: 'CscOtp', description: 'the one-time password of a credential' })
    .optional(),
});

const AuthObject = z
  .strictObject({
    type: z.literal('Password').describe('it is given as a text'),
    id: SecretName,
    format: z.enum(['A', 'N']).meta({ id: 'CscSecretFormat', description: 'A: letters, digits and other characters; N: digits' }),
    label: Label,
    description: Explanation,
  })
  .meta({ id: 'CscAuthObject', description: 'a secret that authorises signatures' });
export const CredentialInfoV2 = z.strictObject({
  ...common,
  auth: z
    .strictObject({
      mode: z.literal('explicit').describe('signatures are authorised with credentials/authorize'),
      expression: z.string().optional().describe('which secrets are needed'),
      objects: z.array(AuthObject).optional().describe('the secrets'),
    })
    .meta({ id: 'CscAuth', description: 'how signatures of a credential are authorised' }),
});
export type CredentialInfoV2 = z.output<typeof CredentialInfoV2>;

export const language = 'en';

const words = {
  PIN: { label: 'Password', description: 'the password of the key' },
  OTP: { label: 'One-time password', description: 'eight digits, sent by SMS or e-mail' },
} as const;

/** `credentials/info` of version 1 (Cloud Signature Consortium API 1.0.4.0, clause 11.5). */
export const credentialsInfoV1 = cscOperation({
  version: 'v1',
  method: 'credentials/info',
  summary: 'Returns a credential: its key, its certificate, and how its signatures are authorised.',
  request: InfoRequest,
  example: { credentialID: exampleCredential, certificates: 'chain', certInfo: true, authInfo: true },
  answer: InfoAnswerV1,
  async run({ credentialID, ...wanted }, context) {
    const key = await credentialKey(credentialID, context);
    const ways = wanted.authInfo === true ? secretsV1(authorisationOf(key, context)) : {};
    return { ...factsOf(key, wanted, context), authMode: 'explicit' as const, ...ways };
  },
});

/** `credentials/info` of version 2 (2.0.0.2, clause 11.5). */
export const credentialsInfoV2 = cscOperation({
  version: 'v2',
  method: 'credentials/info',
  summary: 'Returns a credential: its key, its certificate, and how its signatures are authorised.',
  request: InfoRequest,
  example: { credentialID: exampleCredential, certificates: 'chain', certInfo: true, authInfo: true },
  answer: CredentialInfoV2,
  async run({ credentialID, ...wanted }, context) {
    return credentialInfoV2(await credentialKey(credentialID, context), wanted, context);
  },
});

/** Returns a credential as version 2 has it. */
export function credentialInfoV2(key: KeyRecord, wanted: Wanted, context: Context): CredentialInfoV2 {
  const { pin, otp } = authorisationOf(key, context);
  const ids = (['PIN', 'OTP'] as const).filter((id) => (id === 'PIN' ? pin : otp));
  const objects = ids.map((id) => ({
    type: 'Password' as const,
    id,
    format: id === 'PIN' ? ('A' as const) : ('N' as const),
    ...words[id],
  }));
  return {
    ...factsOf(key, wanted, context),
    auth: { mode: 'explicit', ...(wanted.authInfo === true ? { expression: ids.join(' OR '), objects } : {}) },
  };
}

function secretsV1({ pin, otp }: Authorisation): Pick<z.output<typeof InfoAnswerV1>, 'PIN' | 'OTP'> {
  const presence = (own: boolean, other: boolean): z.output<typeof Presence> => (!own ? 'false' : other ? 'optional' : 'true');
  return {
    PIN: { presence: presence(pin, otp), format: 'A', ...words.PIN },
    OTP: { presence: presence(otp, pin), type: 'online', ID: 'OTP', provider: 'signetd', format: 'N', ...words.OTP },
  };
}

type Facts = Pick<CredentialInfoV2, keyof typeof common>;

function factsOf(key: KeyRecord, { certificates = 'single', certInfo = false }: Wanted, context: Context): Facts {
  const status = credentialStatus(key, context);
  const chain = certificates === 'none' ? undefined : certificates === 'single' ? [key.certificate.der] : credentialChain(key, context);
  return {
    key: { status: status.key, ...keyFacts(key.type) },
    cert: {
      status: status.certificate,
      ...(chain === undefined ? {} : { certificates: chain.map((der) => Buffer.from(der).toString('base64')) }),
      ...(certInfo ? certificateFacts(key) : {}),
    },
    SCAL: '2',
    multisign: signaturesMax(context),
    lang: language,
  };
}

function certificateFacts({ certificate }: KeyRecord): Partial<z.output<typeof CertificateInfo>> {
  const { issuer, subject, serialNumber, notBefore, notAfter } = certificate;
  return {
    issuerDN: distinguishedNameText(issuer),
    serialNumber: Buffer.from(serialNumber).toString('hex').toUpperCase(),
    subjectDN: distinguishedNameText(subject),
    validFrom: generalizedTime(notBefore),
    validTo: generalizedTime(notAfter),
  };
}

/** Returns a time as YYYYMMDDHHMMSSZ (RFC 5280 §4.1.2.5.2). */
function generalizedTime(time: Date): string {
  return `${time.toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
}

const curves: Readonly<Record<string, { readonly curve: string; readonly len: number }>> = {
  'P-256': { curve: oids.prime256v1, len: 256 },
  'P-384': { curve: oids.secp384r1, len: 384 },
  'P-521': { curve: oids.secp521r1, len: 521 },
};

/** The signature algorithms of keys. */
export const rsaAlgorithms = [...signedHashes.map((hash) => rsaOids[hash]), oids.rsassaPss, oids.rsaEncryption];
export const ecdsaAlgorithms = signedHashes.map((hash) => ecdsaOids[hash]);

function keyFacts(type: KeyType): Pick<z.output<typeof KeyInfo>, 'algo' | 'len' | 'curve'> {
  const curve = curves[type];
  if (curve === undefined) return { algo: rsaAlgorithms, len: Number(type.slice('RSA-'.length)) };
  return { algo: ecdsaAlgorithms, ...curve };
}
