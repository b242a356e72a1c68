import type { KeyRecord } from '../../keys/key-record.ts';
import type { Context } from '../operation.ts';
import { signerOf, type SigningKey } from '../sign/signing-key.ts';
import { credentialKey } from './credential.ts';

/**
 * Returns the key of a credential with the activation data that lets it sign.
 * @throws {Refusal} KEY_UNKNOWN, KEY_STATE, KEY_LOCKED; ACTIVATION_FAILED for data that is none, or
 *   has expired
 */
export async function activatedKey(
  { credentialID, SAD }: { readonly credentialID: string; readonly SAD: string },
  context: Context,
): Promise<{ readonly key: KeyRecord; readonly signing: SigningKey }> {
  const key = await credentialKey(credentialID, context);
  const { keys, caller } = context;
  keys.checkUsable(key, 'sign');
  const given = keys.givenActivationData(SAD, caller.spkiSha256);
  return {
    key,
    signing: {
      signer: { key, chain: signerOf(key, context, undefined) },
      identity: undefined,
      sign: (toBeSigned, _prepared, complete) => keys.sign(key, given, { ...toBeSigned, naming: 'without ID' }, complete),
    },
  };
}
