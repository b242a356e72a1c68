import { z } from 'zod';
import { passwordBytes, type GivenSecret } from '../../keys/credentials.ts';
import type { KeyRecord } from '../../keys/key-record.ts';
import type { AuthorisingSecrets, OpenedData } from '../../keys/activation-data.ts';
import { maxSecretBytes, Text } from '../../fields/values.ts';
import type { Context } from '../operation.ts';
import { boundHashes } from './bound-hashes.ts';
import { credentialKey, signaturesMax } from './credential.ts';
import { cscOperation } from './csc-operation.ts';
import { invalidRequest, type CscVersion, type RefusalWords } from './errors.ts';
import {
  CredentialId,
  exampleCredential,
  exampleHash,
  Hashes,
  HashOid,
  NumSignatures,
  Otp,
  Pin,
  SecretName,
  TransactionData,
} from './parameters.ts';

const descriptionMaxCharacters = 500;

const common = {
  credentialID: CredentialId,
  numSignatures: NumSignatures,
  description: Text.max(descriptionMaxCharacters).optional().describe('what is authorised, for people; not used'),
  clientData: TransactionData,
};

export const SadAnswer = z.strictObject({
  SAD: z.string().describe('signature activation data: good for one call, by this client'),
  expiresIn: z.int().describe('seconds until it expires'),
});
export type SadAnswer = z.output<typeof SadAnswer>;

const words: RefusalWords = {
  activation: ({ at }) => (at === '/OTP' ? ['invalid_otp', 'The OTP is invalid'] : ['invalid_pin', 'The PIN is invalid']),
  notAuthorised: 'The credential is bound to other documents',
};

const summary = 'Authorises signatures of given hashes, and returns the activation data for them.';
const details =
  'The PIN is the password of the key (or the authToken of a key of `SINGLE_USE`), the OTP one from `credentials/sendOTP`; one of them is needed, and both must be right if both are given. `clientData` is the `transactionId` of a key that is bound to one.';

/** `credentials/authorize` of version 1 (Cloud Signature Consortium API 1.0.4.0, clause 11.6). */
export const authorizeV1 = cscOperation({
  version: 'v1',
  method: 'credentials/authorize',
  summary,
  details,
  request: z.strictObject({
    ...common,
    hash: Hashes.describe('the hashes to be signed, base64'),
    PIN: Pin.optional(),
    OTP: Otp.optional(),
  }),
  example: { credentialID: exampleCredential, numSignatures: 1, hash: [exampleHash], PIN: 'Jv2mZ0lq8xWc4s1tNfR3yQ' },
  answer: SadAnswer,
  words,
  async run({ hash, PIN, OTP, ...asked }, context) {
    return authorise({ ...asked, hashes: hash, oid: undefined, pin: PIN, otp: OTP, version: 'v1' }, context);
  },
});

const AuthData = z
  .array(
    z
      .strictObject({ id: SecretName, value: Pin.describe('the secret') })
      .meta({ id: 'CscAuthData', description: 'a secret, by its name in credentials/info' }),
  )
  .max(2)
  .describe('the secrets');

/** `credentials/authorize` of version 2 (2.0.0.2, clause 11.6). */
export const authorizeV2 = cscOperation({
  version: 'v2',
  method: 'credentials/authorize',
  summary,
  details,
  request: z.strictObject({
    ...common,
    hashes: Hashes.describe('base64: for signatures/signHash the hashes to be signed, for signatures/signDoc the hashes of the documents'),
    hashAlgorithmOID: HashOid.optional(),
    authData: AuthData.optional(),
  }),
  example: {
    ...{ credentialID: exampleCredential, numSignatures: 1, hashes: [exampleHash], hashAlgorithmOID: '2.16.840.1.101.3.4.2.1' },
    authData: [{ id: 'PIN', value: 'Jv2mZ0lq8xWc4s1tNfR3yQ' }],
  },
  answer: SadAnswer,
  words: { ...words, activation: () => ['invalid_authentication_data', 'The authentication data is invalid'] },
  async run({ hashes, hashAlgorithmOID, authData = [], ...asked }, context) {
    const [pins, otps] = (['PIN', 'OTP'] as const).map((name) => authData.filter(({ id }) => id === name).map(({ value }) => value));
    if ((pins?.length ?? 0) > 1 || (otps?.length ?? 0) > 1) throw invalidRequest('Invalid parameter authData', 'FIELDS_INCONSISTENT');
    return authorise({ ...asked, hashes, oid: hashAlgorithmOID, pin: pins?.[0], otp: otps?.[0], version: 'v2' }, context);
  },
});

interface Asked {
  readonly credentialID: string;
  readonly numSignatures: number;
  readonly hashes: readonly Uint8Array[];
  readonly oid: string | undefined;
  readonly pin: string | undefined;
  readonly otp: string | undefined;
  readonly version: CscVersion;
  readonly clientData?: string | undefined;
}

async function authorise(
  { credentialID, numSignatures, hashes, oid, pin, otp, version, clientData }: Asked,
  context: Context,
): Promise<SadAnswer> {
  if (numSignatures > signaturesMax(context)) throw invalidRequest('Numbers of signatures is too high', 'FIELD_INVALID', '/numSignatures');
  if (hashes.length > numSignatures)
    throw invalidRequest('Invalid value for parameter numSignatures', 'FIELDS_INCONSISTENT', '/numSignatures');
  const digests = boundHashes(hashes, oid, context);
  const key = await credentialKey(credentialID, context);
  const { keys, caller } = context;
  keys.checkUsable(key, 'sign');
  const secrets = givenSecrets(key, { pin, otp, transactionId: clientData }, version);
  const data = await keys.activationData.authorise(key, secrets, { digests, signatures: numSignatures, client: caller.spkiSha256 });
  return sadAnswer(data, keys.now());
}

export function sadAnswer({ text, expiresAt }: OpenedData, now: number): SadAnswer {
  return { SAD: text, expiresIn: Math.max(0, Math.floor((expiresAt - now) / 1000)) };
}

interface Given {
  readonly pin: string | undefined;
  readonly otp: string | undefined;
  readonly transactionId: string | undefined;
}

/** @throws {Refusal} FIELD_MISSING, UNSUPPORTED for a secret that the key does not have */
function givenSecrets({ protocol, transaction }: KeyRecord, { pin, otp, transactionId }: Given, version: CscVersion): AuthorisingSecrets {
  // To other keys it is data of the client, whatever it says. No transaction has a longer name: what
  // is left of one is wrong, too.
  const named = transaction === undefined ? undefined : transactionId?.slice(0, maxSecretBytes + 1);
  if (pin === undefined && otp === undefined) {
    const missing = version === 'v2' ? 'array parameter authData' : `string parameter ${protocol === 'OTP' ? 'OTP' : 'PIN'}`;
    throw invalidRequest(`Missing (or invalid type) ${missing}`, 'FIELD_MISSING');
  }
  if (pin !== undefined && protocol === 'OTP') throw invalidRequest('Invalid parameter PIN: the credential has none', 'UNSUPPORTED');
  if (otp !== undefined && protocol === 'SINGLE_USE') {
    throw invalidRequest('Invalid parameter OTP: the credential is authorised by its PIN alone', 'UNSUPPORTED');
  }
  return {
    pin: pin === undefined ? undefined : ownSecret(protocol, pin, named),
    otp: otp === undefined ? undefined : { member: 'otp', bytes: passwordBytes(otp), transactionId: named },
  };
}

function ownSecret(protocol: KeyRecord['protocol'], text: string, transactionId: string | undefined): GivenSecret {
  if (protocol === 'SINGLE_USE') return { member: 'authToken', bytes: Buffer.from(text), transactionId };
  return { member: 'pin', bytes: passwordBytes(text), transactionId };
}
