import { z } from 'zod';
import { documentsAbsoluteMax } from '../../config/limits-config.ts';
import type { BoundDigest } from '../../keys/digest-binding.ts';
import { Refusal } from '../../result-codes.ts';
import { hashOfOid } from '../../cms/algorithm-identifier.ts';
import { digestLengthFault } from './digest-length.ts';
import { limitedBy } from '../../fields/documented.ts';
import { DigestEntry } from '../../fields/values.ts';

/** Interface, `signerData`. */
export const SignerData = z
  .strictObject({
    digest: z
      .array(DigestEntry)
      .max(documentsAbsoluteMax)
      .meta({ description: 'the documents that may be signed, with their IDs and digests', minItems: 1, ...limitedBy('documentsMax') }),
  })
  .meta({ id: 'SignerData', description: 'the documents that may be signed' });

/** `signerData` of sendOTP, whose list counts only with the action SIGN. */
export const OtpSignerData = z
  .strictObject({
    digest: z
      .array(DigestEntry)
      .max(documentsAbsoluteMax)
      .meta({
        description: 'with SIGN: the documents that may be signed, with their IDs and digests; ignored with other actions',
        ...limitedBy('documentsMax'),
      }),
  })
  .meta({ id: 'OTPSignerData', description: 'the documents that may be signed with the one-time password' });

/** Rules of the tenant and of the service. */
export interface BindingRules {
  readonly allowSha1: boolean;
  /** Maximum number of entries, the same as of documents in a request. */
  readonly documentsMax: number;
}

/**
 * Returns the digests of the documents that may be signed.
 * @throws {Refusal} FIELD_INVALID for a list that is empty or too long, FIELDS_INCONSISTENT for a
 * digest of the wrong length or a duplicate (same document and hash), UNSUPPORTED for any other
 * hash
 */
export function boundDigests({ digest }: z.output<typeof SignerData>, { allowSha1, documentsMax }: BindingRules): BoundDigest[] {
  if (digest.length === 0) {
    throw new Refusal('FIELD_INVALID', { at: '/signerData/digest', message: 'at least one digest is required' });
  }
  if (digest.length > documentsMax) {
    throw new Refusal('FIELD_INVALID', { at: '/signerData/digest', message: `at most ${documentsMax} digests` });
  }
  const seen = new Set<string>();
  return digest.map(({ id, digestAlgOID, digestValue }, index) => {
    const at = `/signerData/digest/${index}`;
    const hash = hashOfOid(digestAlgOID);
    if (hash === undefined || (hash === 'sha1' && !allowSha1)) {
      throw new Refusal('UNSUPPORTED', { at: `${at}/digestAlgOID`, message: 'supported: SHA-256, SHA-384 and SHA-512' });
    }
    const fault = digestLengthFault(hash, digestValue);
    if (fault !== undefined) throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/digestValue`, message: fault });
    if (seen.has(`${hash} ${id}`)) {
      throw new Refusal('FIELDS_INCONSISTENT', { at: `${at}/id`, message: `duplicate ${hash} digest for this ID` });
    }
    seen.add(`${hash} ${id}`);
    return { id, hash, value: digestValue };
  });
}
