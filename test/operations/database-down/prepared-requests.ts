import { createHash } from 'node:crypto';
import { request, type Agent } from 'node:https';
import { text } from 'node:stream/consumers';
import { billSource } from '../../../src/quickstart/first-code.ts';
import { outsideAuthority } from '../../support/outside-signer.ts';
import { agentOf, newCertificate, type OwnService } from '../../support/own-service.ts';
import { completion, openedIn, preSignRequest, rightValues } from '../../support/two-steps.ts';

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly mediaType: string | undefined;
  readonly text: string;
}

/** A request that will succeed once: what it needs is made. */
export interface PreparedRequest {
  /** The operation in the table of operations, or a method of the transfer store. */
  readonly operation: string;
  /** What distinguishes it from other requests for the operation. */
  readonly how: string;
  readonly client: string;
  readonly method: 'POST' | 'GET' | 'HEAD' | 'DELETE';
  readonly path: string;
  readonly body: string;
}

interface Key {
  readonly keyReference: { readonly reference: string; readonly password?: string; readonly authToken?: string };
  readonly certificate: string;
}

const content = 'a document';
const inputDocuments = [{ ID: 'd', base64Data: { base64Value: Buffer.from(content).toString('base64') } }];
const digestValue = createHash('sha256').update(content).digest('base64');
const signerData = { digest: [{ id: 'd', digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue }] };
const rawSignature = { rawSignature: {} };
const cades = { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } };

/** Says what an answer is: `0/0`, `2/202`, or the status of another. */
export function outcomeOf({ status, text: given }: Pick<Answer, 'status' | 'text'>): string {
  if (status === 201 || status === 204) return '0/0';
  if (status !== 200) return String(status);
  const [, major, minor] = /"(?:resultMajor|majorCode)":(\d+),"(?:resultMinor|minorCode)":(\d+)/.exec(given) ?? [];
  return major === undefined ? '0/0' : `${major}/${minor ?? ''}`;
}

/** Makes requests for every operation, and sends them. */
export class Requests {
  readonly #service: OwnService;
  readonly #agents = new Map<string, Agent>();

  constructor(service: OwnService) {
    this.#service = service;
  }

  /** Sends a request. Rejects if the connection breaks, and after `seconds` without an answer. */
  async send(sent: PreparedRequest, { idempotencyKey, seconds = 60 }: { idempotencyKey?: string; seconds?: number } = {}): Promise<Answer> {
    const agent = this.#agents.get(sent.client) ?? agentOf(this.#service.description, sent.client);
    this.#agents.set(sent.client, agent);
    const headers = {
      'Content-Type': sent.path.startsWith('/ftm') ? 'application/octet-stream' : 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
    };
    const { method } = sent;
    return new Promise((resolve, reject) => {
      const options = { agent, method, headers, signal: AbortSignal.timeout(1000 * seconds) };
      const out = request(this.#service.baseUrl + sent.path, options, (response) => {
        text(response).then((given) => {
          const { 'retry-after': retryAfter, 'content-type': mediaType } = response.headers;
          resolve({ status: response.statusCode ?? 0, retryAfter, mediaType, text: given });
        }, reject);
      });
      out.on('error', reject);
      out.end(sent.body === '' ? undefined : sent.body);
    });
  }

  /** Makes one request for each operation, or several where it can be used in several ways. */
  async prepare(): Promise<PreparedRequest[]> {
    const { password } = this.#service.description.twoDDoc ?? {};
    const dataZoneSource = { source: Buffer.from(billSource).toString('base64') };
    const otpKey = await this.#newKey('OTP');
    const { password: otp } = await this.#made<{ password: string }>(
      posted('pki/sendOTP', { action: 'SIGN', keyReference: otpKey.keyReference.reference, signerData }),
    );
    const authority = outsideAuthority();
    const signer = authority.certify('P-256');
    const preSign = preSignRequest({ signer, authority }, cades, inputDocuments);
    const session = openedIn(await this.#made(posted('signature/remotePreSign', preSign)));
    const file = async (): Promise<string> => (await this.#made<{ fileID: string }>(uploaded())).fileID;
    const changed = await this.#newKey();
    const removed = await this.#newKey();
    const [revoked, held] = [await this.#newKey(), await this.#newKey()];
    const signing = ({ keyReference }: Pick<Key, 'keyReference'>, parameters: object): object => ({
      keyReference,
      parameters,
      inputDocuments,
    });
    return [
      posted('signature/sign', signing(await this.#newKey(), rawSignature), 'with a password'),
      posted('signature/sign', signing(await this.#newKey(), cades), 'CAdES'),
      posted('signature/sign', signing(await this.#newKey('SINGLE_USE'), rawSignature), 'with an authToken'),
      posted('signature/sign', signing({ keyReference: { ...otpKey.keyReference, password: otp } }, rawSignature), 'with an OTP'),
      posted('signature/remotePreSign', preSign),
      posted('signature/remoteSign', completion(session, rightValues(session, signer))),
      ...['PASSWORD', 'OTP', 'SINGLE_USE'].map((protocol) => posted('pki/createCertificate', newCertificate(protocol), protocol)),
      posted('pki/revokeCertificate', { certificate: revoked.certificate, reason: 'KEY_COMPROMISE' }),
      posted('pki/revokeCertificate', { certificate: held.certificate, reason: 'CERTIFICATE_HOLD' }, 'a hold'),
      posted('pki/sendMessage', { subscriber: { phoneNumber: '+33612345678' }, message: 'by SMS' }, 'by SMS'),
      posted('pki/sendMessage', { subscriber: { emailAddress: 'zoe@example.org' }, message: 'by e-mail' }, 'by e-mail'),
      posted('pki/sendOTP', { action: 'SIGN', keyReference: (await this.#newKey('OTP')).keyReference.reference, signerData }),
      posted('pki/changePassword', { keyReference: changed.keyReference, password: 'another password' }),
      posted('pki/checkKey', { keyReference: { reference: (await this.#newKey()).keyReference.reference } }),
      posted('pki/checkKey', { keyReference: (await this.#newKey()).keyReference }, 'with a password'),
      posted('pki/removeKey', { keyReference: removed.keyReference }),
      doc2d('creator/createDataZone', { dataZoneSource }),
      doc2d('creator/createImage2DDoc', { image2DDocSource: { dataZoneSignatureSource: { password, dataZoneSource } } }),
      ...(await this.#cscRequests()),
      uploaded(),
      stored('GET', await file()),
      stored('HEAD', await file()),
      stored('DELETE', await file()),
    ];
  }

  /** Requests for both versions of the Cloud Signature Consortium's methods, each with a key of its own. */
  async #cscRequests(): Promise<PreparedRequest[]> {
    const requests: PreparedRequest[] = [];
    for (const version of ['v1', 'v2'] as const) {
      const method = (name: string, body: object): PreparedRequest => csc(`${version}/${name}`, body);
      const hashes = version === 'v1' ? { hash: [digestValue] } : { hashes: [digestValue] };
      const signing = { ...hashes, signAlgo: '1.2.840.10045.4.3.2' };
      const { reference: credentialID } = (await this.#newKey()).keyReference;
      const owned = { credentialID: (await this.#newKey('OTP', { emailAddress: 'zoe@example.org' })).keyReference.reference };
      const document = { document: Buffer.from(content).toString('base64'), signature_format: 'C', signAlgo: '1.2.840.10045.4.3.2' };
      requests.push(
        method('info', {}),
        method('credentials/list', { maxResults: 1 }),
        method('credentials/info', { credentialID }),
        method('credentials/sendOTP', owned),
        method('credentials/authorize', authorisation(version, await this.#newKey())),
        method('credentials/extendTransaction', { ...(await this.#activated(version)), ...hashes }),
        method('signatures/signHash', { ...(await this.#activated(version)), ...signing }),
        method('signatures/timestamp', { hash: digestValue, hashAlgo: '2.16.840.1.101.3.4.2.1' }),
        ...(version === 'v1'
          ? []
          : [
              method('credentials/getChallenge', { ...owned, authObjectID: 'OTP' }),
              method('signatures/signDoc', { ...(await this.#activated(version)), documents: [document] }),
            ]),
      );
    }
    return requests;
  }

  /** Activation data for the content, and its credential. */
  async #activated(version: 'v1' | 'v2'): Promise<{ credentialID: string; SAD: string }> {
    const key = await this.#newKey();
    const { SAD } = await this.#made<{ SAD: string }>(csc(`${version}/credentials/authorize`, authorisation(version, key)));
    return { credentialID: key.keyReference.reference, SAD };
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }

  async #newKey(protocol = 'PASSWORD', subscriber: object = {}): Promise<Key> {
    return this.#made<Key>(posted('pki/createCertificate', newCertificate(protocol, subscriber)));
  }

  /** Sends what must succeed. The tests know the answers of their own requests. */
  async #made<T>(sent: PreparedRequest): Promise<T> {
    const answer = await this.send(sent);
    if (outcomeOf(answer) !== '0/0') throw new Error(`${sent.operation}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as T;
  }
}

/** Tenant `other` has keys of P-256. */
function posted(operation: string, body: object, how = ''): PreparedRequest {
  return { operation, how, client: 'other', method: 'POST', path: `/sign/${operation}`, body: JSON.stringify(body) };
}

function csc(method: string, body: object): PreparedRequest {
  return { operation: `csc/${method}`, how: '', client: 'other', method: 'POST', path: `/csc/${method}`, body: JSON.stringify(body) };
}

function authorisation(version: 'v1' | 'v2', { keyReference: { reference, password } }: Key): object {
  const asked = { credentialID: reference, numSignatures: 1 };
  if (version === 'v1') return { ...asked, hash: [digestValue], PIN: password };
  return { ...asked, hashes: [digestValue], authData: [{ id: 'PIN', value: password }] };
}

/** The tenant of `app` has the digital identity. */
function doc2d(operation: string, body: object): PreparedRequest {
  return { operation, how: '', client: 'app', method: 'POST', path: `/doc2d/${operation}`, body: JSON.stringify(body) };
}

function uploaded(): PreparedRequest {
  return { operation: 'files/POST', how: '', client: 'other', method: 'POST', path: '/ftm/files', body: content };
}

function stored(method: 'GET' | 'HEAD' | 'DELETE', fileID: string): PreparedRequest {
  return { operation: `files/${method}`, how: '', client: 'other', method, path: `/ftm/files/${fileID}`, body: '' };
}
