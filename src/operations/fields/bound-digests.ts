import { z } from 'zod';
import { documentsAbsoluteMax } from '../../config/limits-config.ts';
import type { BoundDigest } from '../../keys/digest-binding.ts';
import { Refusal } from '../../result-codes.ts';
import { hashOfOid } from '../../cms/algorithm-identifier.ts';
import { hashBytes } from '../../token/signature-algorithm.ts';
import { DigestEntry } from '../../fields/values.ts';

/** Interface, `signerData`. */
export const SignerData = z.strictObject({
  digest: z.array(DigestEntry).max(documentsAbsoluteMax).describe('the documents that may be signed, by their IDs and digests'),
});

/** The tenant's rules, and those of the service. */
export interface BindingRules {
  readonly allowSha1: boolean;
  /** Entries; as many as a request has documents. */
  readonly documentsMax: number;
}

/**
 * The digests of the documents that may be signed.
 * @throws {Refusal} FIELD_INVALID for an empty list and one that is too long, FIELDS_INCONSISTENT for a digest of a wrong length and for a second one of
 * the same document by the same hash, UNSUPPORTED for another hash
 */
export function boundDigests({ digest }: z.output<typeof SignerData>, { allowSha1, documentsMax }: BindingRules): BoundDigest[] {
  if (digest.length === 0) {
    throw new Refusal('FIELD_INVALID', { at: '/signerData/digest', message: 'at least one digest: with none, nothing could be signed' });
  }
  if (digest.length > documentsMax) {
    throw new Refusal('FIELD_INVALID', { at: '/signerData/digest', message: `at most ${documentsMax} digests` });
  }
  const seen = new Set<string>();
  return digest.map(({ id, digestAlgOID, digestValue }, index) => {
    const at = `/signerData/digest/${index}`;
    const hash = hashOfOid(digestAlgOID);
    if (hash === undefined || (hash === 'sha1' && !allowSha1)) {
      throw new Refusal('UNSUPPORTED', { at: `${at}/digestAlgOID`, message: 'digests of SHA-256, SHA-384 and SHA-512 are taken' });
    }
    if (digestValue.length !== hashBytes[hash]) {
      throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/digestValue`, message: `a digest of ${hash} has ${hashBytes[hash]} bytes` });
    }
    if (seen.has(`${hash} ${id}`)) {
      throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/id`, message: `the list has a digest of ${hash} for this id already` });
    }
    seen.add(`${hash} ${id}`);
    return { id, hash, value: digestValue };
  });
}
