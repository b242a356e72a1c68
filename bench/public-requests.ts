/** Requests to the public listener: OCSP and time-stamps. */
import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { timeStampRequest } from '../src/timestamp/request.ts';
import { readCertificate } from '../src/x509/certificate.ts';
import { certId, nonceExtension, ocspRequest } from '../test/certificates/ocsp/requests.ts';
import { KeepAliveClient } from './keep-alive-client.ts';
import type { PlainRequest } from './plain-load.ts';
import type { Quickstart } from './quickstart-description.ts';

/** A request over plain HTTP that is sent again and again. */
export interface PublicWork {
  readonly name: string;
  readonly url: URL;
  readonly request: PlainRequest;
}

/** A new certificate in base64, and its CertID (RFC 6960 §4.1.1). */
export async function newCertificate({ publicUrl }: Quickstart, client: KeepAliveClient): Promise<{ id: Uint8Array; certificate: string }> {
  const answer = await client.call('pki/createCertificate', {
    certificationRequestInfo: {
      signatureActivationProtocol: 'PASSWORD',
      PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Bench' } },
    },
    certificateFormat: 'CERTIFICATE',
  });
  const { certificate } = z.object({ certificate: z.string() }).parse(answer);
  const { serialNumber } = readCertificate(Buffer.from(certificate, 'base64'));
  const issuing = readCertificate(Buffer.from(await (await fetch(`${publicUrl}/pki/issuing.cer`)).arrayBuffer()));
  return { id: certId(issuing, Buffer.from(serialNumber).toString('hex')), certificate };
}

/** The URL of an OCSP request with GET (RFC 6960 §A.1). */
export function ocspUrl({ publicUrl }: Quickstart, request: Uint8Array): URL {
  return new URL(`${publicUrl}/ocsp/issuing/${encodeURIComponent(Buffer.from(request).toString('base64'))}`);
}

export function get(url: URL): PlainRequest {
  return { bytes: Buffer.from(`GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`, 'latin1') };
}

/** An OCSP request with a nonce, so that its answer cannot be a kept one. */
export function postWithNonce(id: Uint8Array): PlainRequest {
  const nonce = randomBytes(16).fill(1);
  return varied('/ocsp/issuing', 'application/ocsp-request', ocspRequest([id], nonceExtension(nonce)), nonce);
}

/** A request for a time-stamp (RFC 3161) with a nonce. */
export function postTimeStamp(): PlainRequest {
  const nonce = Buffer.alloc(16, 1);
  const imprint = { hash: 'sha256', value: createHash('sha256').update('bench').digest() } as const;
  const { bytes, vary = 0 } = varied('/tsa', 'application/timestamp-query', timeStampRequest(imprint, { nonce }), nonce);
  // Not the first octet: an INTEGER stays positive.
  return { bytes, vary: vary + 1 };
}

function varied(path: string, type: string, body: Uint8Array, nonce: Buffer): PlainRequest {
  const head = `POST ${path} HTTP/1.1\r\nHost: bench\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
  const bytes = Buffer.concat([Buffer.from(head, 'latin1'), body]);
  return { bytes, vary: bytes.indexOf(nonce) };
}

/** What everybody may ask for. */
export async function publicWorks(quickstart: Quickstart): Promise<PublicWork[]> {
  const client = new KeepAliveClient(quickstart, quickstart.clients.other, 1);
  try {
    const { id } = await newCertificate(quickstart, client);
    const url = ocspUrl(quickstart, ocspRequest([id]));
    return [
      { name: 'OCSP response, kept', url, request: get(url) },
      { name: 'OCSP response, new (with a nonce)', url, request: postWithNonce(id) },
      { name: 'time-stamp, by the authority of the service', url: new URL(`${quickstart.publicUrl}/tsa`), request: postTimeStamp() },
    ];
  } finally {
    client.close();
  }
}
