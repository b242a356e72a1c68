import { expiredData } from '../../keys/activation-data.ts';
import type { KeyRecord } from '../../keys/key-record.ts';
import type { Context } from '../operation.ts';
import { signerOf, type SigningKey } from '../sign/signing-key.ts';
import { credentialKey } from './credential.ts';
import type { RefusalWords } from './errors.ts';

/** What methods that take activation data say about their refusals. */
export const sadWords: RefusalWords = {
  activation: ({ text }) => ['invalid_request', text === expiredData ? 'SAD expired' : 'Invalid parameter SAD'],
  notAuthorised: 'Hash is not authorized by the SAD',
};

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
  const given = keys.activationData.given(SAD, caller.spkiSha256);
  return {
    key,
    signing: {
      signer: { key, chain: signerOf(key, context, undefined) },
      identity: undefined,
      confirm: async () => keys.confirmSecret(key, given),
      sign: (toBeSigned, _prepared, complete) => keys.sign(key, given, { ...toBeSigned, naming: 'without ID' }, complete),
    },
  };
}
