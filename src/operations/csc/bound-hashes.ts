import { hashBytes } from '../../token/signature-algorithm.ts';
import { bindingHash, type BoundDigest } from '../../keys/digest-binding.ts';
import type { Context } from '../operation.ts';
import { signaturesMax } from './credential.ts';
import { invalidRequest } from './errors.ts';
import { hashOfLength, signedHashOf } from './parameters.ts';

/**
 * Returns the hashes of a request as activation data is bound to them. `oid`: the hash that made
 * them; absent, their length says it.
 * @throws {Refusal} FIELD_INVALID
 */
export function boundHashes(
  hashes: readonly Uint8Array[],
  oid: string | undefined,
  context: Pick<Context, 'config' | 'audit'>,
): readonly BoundDigest[] {
  if (hashes.length > signaturesMax(context)) throw invalidRequest('Numbers of signatures is too high');
  const named = oid === undefined ? undefined : signedHashOf(oid);
  const digests = hashes.map((value) => {
    const hash = named ?? hashOfLength(value.length);
    if (hash === undefined || value.length !== hashBytes[hash]) throw invalidRequest('Invalid digest value length');
    return { id: '', hash, value };
  });
  context.audit.digests.push(`list-of-${digests.length}:sha256:${bindingHash(digests)}`);
  return digests;
}
