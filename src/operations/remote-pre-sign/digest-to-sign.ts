import { z } from 'zod';
import { hashAlgorithmOid, signatureAlgorithmOid } from '../../cms/algorithm-identifier.ts';
import type { Prepared } from '../../signatures/format.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { ObjectIdentifier } from '../../fields/values.ts';

/** An entry of `signerData.digest`, as it is handed to a device. */
export const DigestEntryToSign = z.strictObject({
  id: z.string().describe('ID of the document; the signature value goes by it'),
  digestAlgOID: ObjectIdentifier.describe('hash of dataToSign'),
  digestValue: z.base64().describe('what the device signs'),
  dataToSign: z.base64().optional().describe('what digestValue is made of, for devices that hash for themselves; absent from 64 KiB on'),
  signatureAlgorithmOid: ObjectIdentifier.optional().describe('absent where neither a certificate nor the parameters say'),
});

/** Returns what is handed to a device. `algorithm` is undefined where nobody knows it. */
export function digestEntry(
  { id, hash, digest, dataToSign }: Prepared<unknown>,
  algorithm: SignatureAlgorithm | undefined,
): z.output<typeof DigestEntryToSign> {
  return {
    id,
    digestAlgOID: hashAlgorithmOid(hash),
    digestValue: Buffer.from(digest).toString('base64'),
    ...(dataToSign === undefined ? {} : { dataToSign: Buffer.from(dataToSign).toString('base64') }),
    ...(algorithm === undefined ? {} : { signatureAlgorithmOid: signatureAlgorithmOid(algorithm) }),
  };
}
