import type { TenantId } from '../clients/caller.ts';
import type { KeyType } from '../config/key-types.ts';
import type { CertificateRow, IssuingChainRow } from '../state/tables/certificates.ts';
import type { Step } from '../state/step.ts';
import type { KeyRow } from '../state/tables/keys.ts';
import type { KeyId } from '../token/key-id.ts';
import type { MadeMac, Token } from '../token/token.ts';
import { bindingText, type DigestBinding } from './digest-binding.ts';
import type { ActivationProtocol, KeyReferenceId, Subscriber } from './key-record.ts';
import { authTokenHash } from './long-secrets.ts';
import { keyScope, sealKey } from './seals.ts';

/** A certificate for a new key, as `certificates/` issues it. */
export interface IssuedCertificate {
  readonly row: CertificateRow;
  /** The issuing chain. */
  readonly issuers?: IssuingChainRow;
}

export interface NewKey {
  readonly tenant: TenantId;
  readonly type: KeyType;
  readonly protocol: ActivationProtocol;
  readonly transactionId?: string | undefined;
  readonly binding?: DigestBinding;
  readonly subscriber: Subscriber;
  /** Maximum number of keys of the tenant on the token. Default: no limit. */
  readonly keysMax?: number | undefined;
  /** Issues the certificate for the public key (SubjectPublicKeyInfo, DER). */
  issue(publicKeyInfo: Uint8Array): Promise<IssuedCertificate>;
  /** Further steps in the commit that creates the key; if one fails, the key is not created. */
  readonly steps?: readonly Step[];
}

/** The secret of a new key, shown only once. */
export interface NewSecret {
  readonly password?: string;
  readonly authToken?: string;
}

export interface CreatedKey {
  readonly reference: KeyReferenceId;
  readonly secret: NewSecret;
  /** DER. */
  readonly certificate: Uint8Array;
}

/** The part of the token that makes MACs. */
type Macs = Pick<Token, 'makeMac'>;

/** Both are too long to be guessed, so neither is stretched. */
const secretBytes = { PASSWORD: 20, AUTH_TOKEN: 32 } as const;
const none = new Uint8Array();

/** Draws the secret for the protocol. */
export async function drawSecret(token: Pick<Token, 'random'>, protocol: ActivationProtocol): Promise<NewSecret> {
  switch (protocol) {
    case 'PASSWORD':
      return { password: await text(secretBytes.PASSWORD) };
    case 'SINGLE_USE':
      return { authToken: await text(secretBytes.AUTH_TOKEN) };
    case 'OTP':
      return {};
  }

  async function text(bytes: number): Promise<string> {
    return Buffer.from(await token.random(bytes)).toString('base64url');
  }
}

/**
 * Returns the row of a new key, with its seal and the MACs of its secrets, which cover what the row
 * authorises. `createdAt`: milliseconds since epoch.
 */
export async function keyRow(
  token: Macs,
  request: NewKey,
  { id, issued, secret, createdAt }: { id: KeyId; issued: IssuedCertificate; secret: NewSecret; createdAt: number },
): Promise<KeyRow> {
  const { row: certificate, issuers } = issued;
  const { transactionId } = request;
  const facts = {
    reference: certificate.sha1,
    tenant: request.tenant,
    key_id: id,
    key_type: request.type,
    protocol: request.protocol,
    bound_digests: bindingText(request.binding),
    subscriber_email: request.subscriber.emailAddress ?? null,
    subscriber_phone: request.subscriber.phoneNumber ?? null,
    created_at: createdAt,
  };
  const scope = keyScope(
    {
      ...facts,
      ...{ der: certificate.der, certificate_tenant: certificate.tenant, authority: certificate.authority },
      issuing_chain: issuers?.id ?? null,
    },
    transactionId !== undefined,
  );
  const [own, transaction] = await Promise.all([
    storedMac(token, id, scope, 'PASSWORD', secret.password) ?? storedMac(token, id, scope, 'AUTH_TOKEN', secret.authToken),
    storedMac(token, id, scope, 'TRANSACTION', transactionId),
  ]);
  const tokenHash = secret.authToken === undefined ? none : authTokenHash(Buffer.from(secret.authToken));
  const secrets = {
    secret_salt: own === undefined ? none : Buffer.concat([own.salt, tokenHash]),
    secret_mac: own?.mac ?? none,
    secret_stretched: 0,
    transaction_salt: transaction?.salt ?? null,
    transaction_mac: transaction?.mac ?? null,
  };
  const counters = { failures_in_row: 0, failures_since_success: 0, locked_until: null };
  return { ...facts, ...secrets, ...counters, state: 'ACTIVE', ...(await sealKey(token, id, scope, secrets)) };
}

/** Makes the MAC of a secret; undefined if there is no such secret. */
function storedMac(
  token: Macs,
  id: KeyId,
  scope: Uint8Array,
  kind: 'PASSWORD' | 'AUTH_TOKEN' | 'TRANSACTION',
  secret: string | undefined,
): Promise<MadeMac> | undefined {
  return secret === undefined ? undefined : token.makeMac(id, kind, Buffer.from(secret), scope);
}
