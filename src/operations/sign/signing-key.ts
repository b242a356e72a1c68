import { chainFor } from '../../certificates/chains.ts';
import { requiredSecret } from '../../keys/credentials.ts';
import type { KeyRecord } from '../../keys/key-record.ts';
import type { ToBeSigned } from '../../keys/signing.ts';
import { Refusal } from '../../result-codes.ts';
import type { Signer } from '../../signatures/format-entry.ts';
import type { SignerChain } from '../../signatures/format.ts';
import type { AskedFormat } from '../../signatures/formats.ts';
import type { PreparedSignatures } from '../../signatures/signatures.ts';
import type { DigitalIdentity } from '../../twoddoc/identities/digital-identity.ts';
import type { KeyReference } from '../fields/key-reference.ts';
import type { Context } from '../operation.ts';

/** The key of a request: a caller's, or that of a digital identity. */
export interface SigningKey {
  readonly signer: Signer;
  /** Undefined for a caller's key. */
  readonly identity: DigitalIdentity | undefined;
  /**
   * Verifies the secret and no more, before work that is costly; `sign` verifies it again.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED
   */
  confirm(): Promise<void>;
  /**
   * Verifies the secret and signs, and has `complete` make the caller's answer from the values.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED, DIGEST_NOT_AUTHORISED
   */
  sign<T extends object>(
    toBeSigned: ToBeSigned,
    prepared: PreparedSignatures['prepared'],
    complete: (values: readonly Uint8Array[]) => Promise<T>,
  ): Promise<T>;
}

/**
 * Finds the key that a request names, and checks that it may be used.
 * @throws {Refusal} KEY_UNKNOWN, KEY_STATE, KEY_LOCKED, FIELD_MISSING for an absent secret;
 *   UNSUPPORTED for a digital identity whose key shall sign something else than a data zone
 */
export async function signingKey(keyReference: KeyReference, asked: AskedFormat, context: Context): Promise<SigningKey> {
  const { caller, keys, identities } = context;
  const identity = identities.findByReference(caller.tenant, keyReference.reference);
  if (identity !== undefined) return identityKey(identity, keyReference, asked, context);
  const { reference } = keyReference;
  const key = keys.findAtOnce(caller.tenant, reference) ?? (await keys.find(caller.tenant, reference));
  keys.checkUsable(key, 'sign');
  const given = requiredSecret(key, 'SIGN', keyReference);
  return {
    signer: { key, chain: signerOf(key, context, asked.trustedCa?.fingerprint) },
    identity: undefined,
    confirm: async () => keys.confirmSecret(key, given),
    sign: (toBeSigned, _prepared, complete) => keys.sign(key, given, toBeSigned, complete),
  };
}

async function identityKey(
  identity: DigitalIdentity,
  keyReference: KeyReference,
  { format }: AskedFormat,
  { keys, identities }: Context,
): Promise<SigningKey> {
  const key = await identities.keyOf(identity);
  keys.checkUsable(key, 'sign');
  if (format !== 'code2DDoc') {
    throw new Refusal('UNSUPPORTED', {
      at: '/keyReference/reference',
      message: 'the key of a digital identity signs only data zones of 2D-Doc, with code2DDocSignature',
    });
  }
  const given = requiredSecret(key, 'SIGN', keyReference);
  const { algorithm, certificate, publicKey } = identity;
  return {
    signer: { key: { type: identity.curve }, chain: { certificate, publicKey, issuers: [] } },
    identity,
    confirm: async () => keys.confirmSecret(key, given),
    sign: async (_toBeSigned, prepared, complete) => {
      const zones = prepared.map(({ dataToSign }) => {
        if (dataToSign === undefined) throw new Error('a data zone is kept in memory');
        return dataToSign;
      });
      return keys.signZones(key, given, { algorithm, zones }, complete);
    },
  };
}

/**
 * Returns the signer with the chain of the authority that issued the certificate, which may no
 * longer be the tenant's.
 */
export function signerOf(key: KeyRecord, { authorities }: Context, trustedCa: string | undefined): SignerChain {
  const issuers = chainFor(key.issuers, authorities.get(key.authority), trustedCa);
  if (issuers.length === 0) throw new Error(`the authority ${key.authority} that issued ${key.reference} is no longer configured`);
  return { certificate: key.certificate, publicKey: key.publicKey, issuers, isOwn: true };
}
