import type { DigestToSign, RemotePreSignRequest, RemoteSignRequest } from './api.ts';
import type { CompletedSignatures, SignetdClient } from './client.ts';
import type { CallOptions } from './connection.ts';

/**
 * Signs with a key that is held elsewhere: prepares the signature, has the device sign each digest,
 * and completes the signature.
 *
 * @param device returns the signature value of one digest, as bytes or in base64: RSA PKCS #1 or
 *   RSASSA-PSS, or ECDSA in DER or as r‖s
 * @param more further members of the remoteSign request, such as `optionalInputs`
 */
export async function signInTwoSteps(
  client: SignetdClient,
  request: RemotePreSignRequest,
  device: (digest: DigestToSign) => Promise<Uint8Array | string>,
  more: Omit<RemoteSignRequest, 'signatureThreadId' | 'signatureValues'> = {},
  options: CallOptions = {},
): Promise<CompletedSignatures> {
  const { signatureThreadId, signerData } = await client.remotePreSign(request, options);
  const signatureValueMapping = [];
  for (const digest of signerData.digest) {
    const value = await device(digest);
    signatureValueMapping.push({
      id: digest.id,
      signatureValue: typeof value === 'string' ? value : Buffer.from(value).toString('base64'),
    });
  }
  return client.remoteSign({ ...more, signatureThreadId, signatureValues: { signatureValueMapping } }, options);
}
