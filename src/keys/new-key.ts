import type { TenantId } from '../clients/caller.ts';
import type { KeyType } from '../config/profile.ts';
import type { CertificateRow, IssuingChainRow } from '../state/tables/certificates.ts';
import type { Step } from '../state/step.ts';
import type { KeyRow } from '../state/tables/keys.ts';
import type { KeyId } from '../token/key-id.ts';
import type { MadeMac, Token } from '../token/token.ts';
import { bindingText, type DigestBinding } from './digest-binding.ts';
import type { ActivationProtocol, KeyReferenceId, Subscriber } from './key-record.ts';

/** A certificate for a new key, as the certificates room issues it. */
export interface IssuedCertificate {
  readonly row: CertificateRow;
  /** What it was issued under. */
  readonly issuers?: IssuingChainRow;
}

export interface NewKey {
  readonly tenant: TenantId;
  readonly type: KeyType;
  readonly protocol: ActivationProtocol;
  readonly transactionId?: string | undefined;
  readonly binding?: DigestBinding;
  readonly subscriber: Subscriber;
  /** Keys that the tenant may have on the token; absent: any number. */
  readonly keysMax?: number | undefined;
  /** Issues the certificate for the public key (SubjectPublicKeyInfo, DER). */
  issue(publicKeyInfo: Uint8Array): Promise<IssuedCertificate>;
  /** What else is done in the commit that makes the key, or keeps it from being made. */
  readonly steps?: readonly Step[];
  /** What the caller is answered: kept for repetitions of the request by the commit that makes the key. */
  answer?(created: CreatedKey): object;
}

/** The secret of a new key, shown this once. */
export interface NewSecret {
  readonly password?: string;
  readonly authToken?: string;
}

export interface CreatedKey {
  readonly reference: KeyReferenceId;
  readonly secret: NewSecret;
}

/** What a MAC needs. */
type Macs = Pick<Token, 'random' | 'makeMac'>;

/** Both have more bits than anybody guesses, so neither is stretched. */
const secretBytes = { PASSWORD: 20, AUTH_TOKEN: 32 } as const;
const none = new Uint8Array();

/** The secret that the protocol wants, and the MACs of it and of the transaction. */
export async function makeSecret(
  token: Macs,
  id: KeyId,
  { protocol, transactionId }: Pick<NewKey, 'protocol' | 'transactionId'>,
): Promise<{ secret: NewSecret; columns: SecretColumns }> {
  const [own, transaction] = await Promise.all([
    ownSecret(token, id, protocol),
    transactionId === undefined ? undefined : storedMac(token, id, 'TRANSACTION', transactionId),
  ]);
  return {
    secret: own.secret,
    columns: {
      secret_salt: own.stored?.salt ?? none,
      secret_mac: own.stored?.mac ?? none,
      secret_stretched: 0,
      transaction_salt: transaction?.salt ?? null,
      transaction_mac: transaction?.mac ?? null,
    },
  };
}

export type SecretColumns = Pick<KeyRow, 'secret_salt' | 'secret_mac' | 'secret_stretched' | 'transaction_salt' | 'transaction_mac'>;

/** The row of a new key. `createdAt`: milliseconds since epoch. */
export function keyRow(
  request: NewKey,
  { id, certificate, columns, createdAt }: { id: KeyId; certificate: CertificateRow; columns: SecretColumns; createdAt: number },
): KeyRow {
  return {
    reference: certificate.sha1,
    tenant: request.tenant,
    key_id: id,
    key_type: request.type,
    protocol: request.protocol,
    state: 'ACTIVE',
    ...columns,
    bound_digests: bindingText(request.binding),
    failures_in_row: 0,
    failures_since_success: 0,
    locked_until: null,
    subscriber_email: request.subscriber.emailAddress ?? null,
    subscriber_phone: request.subscriber.phoneNumber ?? null,
    created_at: createdAt,
  };
}

async function ownSecret(
  token: Macs,
  id: KeyId,
  protocol: ActivationProtocol,
): Promise<{ secret: NewSecret; stored: MadeMac | undefined }> {
  if (protocol === 'OTP') return { secret: {}, stored: undefined };
  const kind = protocol === 'PASSWORD' ? 'PASSWORD' : 'AUTH_TOKEN';
  const text = Buffer.from(await token.random(secretBytes[kind])).toString('base64url');
  return { secret: kind === 'PASSWORD' ? { password: text } : { authToken: text }, stored: await storedMac(token, id, kind, text) };
}

async function storedMac(token: Macs, id: KeyId, kind: 'PASSWORD' | 'AUTH_TOKEN' | 'TRANSACTION', text: string): Promise<MadeMac> {
  return token.makeMac(id, kind, Buffer.from(text));
}
