import { call, certificateRequest, contentDocument, textOf } from '../support/api.ts';
import { succeeds } from '../support/succeeds.ts';

/** Makes a key of the tenant `other` at the service of the run, and returns its reference. */
export async function namedKey(commonName: string): Promise<string> {
  const request = certificateRequest({ PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName } } });
  const { body } = succeeds(await call('other', 'pki/createCertificate', request));
  return textOf(body['keyReference']?.['reference']);
}

/** Makes a key that wrong passwords have locked. */
export async function lockedKey(commonName: string): Promise<string> {
  const reference = await namedKey(commonName);
  const body = {
    ...{ keyReference: { reference, password: 'wrong' }, parameters: { rawSignature: {} } },
    inputDocuments: [contentDocument('x')],
  };
  for (let attempt = 0; attempt < 5; attempt += 1) await call('other', 'signature/sign', body);
  return reference;
}
