import { z } from 'zod';
import type { BoundDigest } from '../../keys/digest-binding.ts';
import { Refusal } from '../../result-codes.ts';
import { hashOfOid } from '../../signatures/algorithm-identifier.ts';
import { hashBytes } from '../../token/signature-algorithm.ts';
import { DigestEntry } from './values.ts';

/** Interface, `signerData`. */
export const SignerData = z.strictObject({
  digest: z.array(DigestEntry).describe('the documents that may be signed, by their IDs and digests'),
});

/**
 * The digests of the documents that may be signed.
 * @throws {Refusal} FIELD_INVALID for an empty list, FIELDS_INCONSISTENT for a digest of a wrong length, UNSUPPORTED for another hash
 */
export function boundDigests({ digest }: z.output<typeof SignerData>, { allowSha1 }: { readonly allowSha1: boolean }): BoundDigest[] {
  if (digest.length === 0) {
    throw new Refusal('FIELD_INVALID', { at: '/signerData/digest', message: 'at least one digest: with none, nothing could be signed' });
  }
  return digest.map(({ id, digestAlgOID, digestValue }, index) => {
    const at = `/signerData/digest/${index}`;
    const hash = hashOfOid(digestAlgOID);
    if (hash === undefined || (hash === 'sha1' && !allowSha1)) {
      throw new Refusal('UNSUPPORTED', { at: `${at}/digestAlgOID`, message: 'digests of SHA-256, SHA-384 and SHA-512 are taken' });
    }
    if (digestValue.length !== hashBytes[hash]) {
      throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/digestValue`, message: `a digest of ${hash} has ${hashBytes[hash]} bytes` });
    }
    return { id, hash, value: digestValue };
  });
}
