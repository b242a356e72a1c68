import { z } from 'zod';
import { hashAlgorithmOid, signatureAlgorithmOid } from '../../cms/algorithm-identifier.ts';
import type { HashName, SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { ObjectIdentifier } from '../../fields/values.ts';

/** An entry of `signerData.digest`, as it is handed to a device. */
export const DigestEntryToSign = z.strictObject({
  id: z.string().describe('ID of the document; the signature value goes by it'),
  digestAlgOID: ObjectIdentifier.describe('hash of dataToSign'),
  digestValue: z.base64().describe('what the device signs'),
  dataToSign: z.base64().optional().describe('what digestValue is made of, for devices that hash for themselves; absent from 64 KiB on'),
  signatureAlgorithmOid: ObjectIdentifier.optional().describe('absent where neither a certificate nor the parameters say'),
});

/** What is to be signed of one document. */
export interface DigestToSign {
  readonly id: string;
  readonly hash: HashName;
  readonly digest: Uint8Array;
  readonly dataToSign: Uint8Array | undefined;
  readonly algorithm: SignatureAlgorithm | undefined;
}

export function digestEntry({ id, hash, digest, dataToSign, algorithm }: DigestToSign): z.output<typeof DigestEntryToSign> {
  return {
    id,
    digestAlgOID: hashAlgorithmOid(hash),
    digestValue: Buffer.from(digest).toString('base64'),
    ...(dataToSign === undefined ? {} : { dataToSign: Buffer.from(dataToSign).toString('base64') }),
    ...(algorithm === undefined ? {} : { signatureAlgorithmOid: signatureAlgorithmOid(algorithm) }),
  };
}
