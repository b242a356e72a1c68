import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import { billSource } from '../../src/quickstart/first-code.ts';
import { call, contentDocument, description, newKey, secretOf, send, textOf, type ApiAnswer } from './api.ts';
import { file, idOf, upload } from './files.ts';
import { outsideAuthority } from './outside-signer.ts';
import { succeeds } from './succeeds.ts';
import { completed, completion, opened, preSignRequest, rightValues } from './two-steps.ts';

const client = 'app';
const cades = (members: object = {}): object => ({
  XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } }, ...members },
});
const inputDocuments = [contentDocument('metered')];

/**
 * Has the running service do everything that it offers, each at least once and with success: the operations, the transfer store, the public
 * listener. One signature session and one file stay, and one client without a certificate is refused.
 */
export async function callAllOperations(): Promise<void> {
  const key = await newKey(client);
  const keyReference = secretOf(key);
  await signatures(keyReference);
  await call(client, 'signature/sign', { keyReference: { ...keyReference, password: 'wrong' }, parameters: cades(), inputDocuments });
  await remoteSignatures();
  const { reference } = keyReference;
  succeeds(await call(client, 'pki/sendOTP', { keyReference: reference, action: 'CHANGE_PASSWORD', signerData: { digest: [] } }));
  for (const subscriber of [{ phoneNumber: '+33612345678' }, { emailAddress: 'zoe@example.org' }])
    succeeds(await call(client, 'pki/sendMessage', { subscriber, message: 'metered' }));
  succeeds(await call(client, 'pki/checkKey', { keyReference: { reference } }));
  succeeds(await call(client, 'pki/changePassword', { keyReference, password: 'another password' }));
  await publicServices(key.certificate);
  const certificate = key.certificate.toString('base64');
  succeeds(await call(client, 'pki/revokeCertificate', { certificate, reason: 'SUPERSEDED' }));
  succeeds(await call(client, 'pki/removeKey', { keyReference: { reference, password: 'another password' } }));
  await twoDDoc();
  await files();
  await refusedConnection();
}

async function signatures(keyReference: object): Promise<void> {
  const { publicUrl = '', timestampUrl } = description;
  const ownUrls = (path: string): object => ({ URLSource: 'CLIENT', clientURL: [`${publicUrl}${path}`] });
  for (const members of [
    {},
    { timeStamp: {}, longTermValidation: {} },
    // Over HTTP, as from another service.
    {
      timeStamp: { URLSource: 'CLIENT', clientURL: [timestampUrl] },
      longTermValidation: { signerRevocationValueChoice: 'CRL', signerRevocationDataSource: { CRL: ownUrls('/pki/issuing.crl') } },
    },
  ])
    succeeds(await call(client, 'signature/sign', { keyReference, parameters: cades(members), inputDocuments }));
}

async function remoteSignatures(): Promise<void> {
  const authority = outsideAuthority();
  const signer = authority.certify('P-256');
  const request = preSignRequest({ signer, authority }, cades(), inputDocuments);
  const session = await opened(request, client);
  succeeds(await completed(completion(session, rightValues(session, signer)), client));
  await opened(request, client);
}

async function publicServices(certificate: Buffer): Promise<void> {
  const { publicUrl = '' } = description;
  const [, url = ''] = /OCSP - URI:(\S+)/.exec(new X509Certificate(certificate).infoAccess ?? '') ?? [];
  for (const answer of [
    await fetch(`${publicUrl}/pki/issuing.crl`),
    // Neither is a request that they can read, which they answer all the same.
    await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/ocsp-request' }, body: 'x' }),
    await fetch(`${publicUrl}/tsa`, { method: 'POST', headers: { 'Content-Type': 'application/timestamp-query' }, body: 'x' }),
  ])
    await answer.arrayBuffer();
}

async function twoDDoc(): Promise<void> {
  const post = async (operation: string, body: object): Promise<ApiAnswer> =>
    send(
      client,
      { path: `${description.doc2dRoot ?? ''}/creator/${operation}`, headers: { 'Content-Type': 'application/json' } },
      JSON.stringify(body),
    );
  const dataZoneSource = { source: Buffer.from(billSource).toString('base64') };
  succeeds(await post('createDataZone', { dataZoneSource }));
  const { password } = description.twoDDoc ?? {};
  succeeds(await post('createImage2DDoc', { image2DDocSource: { dataZoneSignatureSource: { password, dataZoneSource } } }));
}

async function files(): Promise<void> {
  const fileID = idOf(await upload(client, 'metered'));
  await file(client, 'GET', fileID);
  await file(client, 'DELETE', fileID);
  await upload(client, `metered at ${textOf(Date.now())}`);
}

/** Connects without a client certificate, and returns once the service has closed the connection. */
async function refusedConnection(): Promise<void> {
  const { hostname: host, port } = new URL(description.baseUrl);
  await new Promise<void>((resolve) => {
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false });
    socket
      .on('error', () => undefined)
      .on('close', () => {
        resolve();
      });
    socket.resume();
  });
}
