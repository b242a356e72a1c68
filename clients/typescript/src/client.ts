import type {
  ChangePasswordRequest,
  ChangePasswordResponse,
  CheckKeyRequest,
  CheckKeyResponse,
  CreateCertificateRequest,
  CreateCertificateResponse,
  CreateDataZoneRequest,
  CreateDataZoneResponse,
  CreateImage2DDocRequest,
  CreateImage2DDocResponse,
  RemotePreSignRequest,
  RemotePreSignResponse,
  RemoteSignRequest,
  RemoteSignResponse,
  RemoveKeyRequest,
  RemoveKeyResponse,
  RevokeCertificateRequest,
  RevokeCertificateResponse,
  SendMessageRequest,
  SendMessageResponse,
  SendOTPRequest,
  SendOTPResponse,
  SignRequest,
  SignResponse,
} from './api.ts';
import { Connection, type CallOptions, type ConnectionOptions } from './connection.ts';
import { FileStore } from './file-store.ts';

/** Where the service offers its operations; the defaults are those of its configuration. */
export interface Prefixes {
  /** Default: `/sign`. */
  readonly signRoot?: string;
  /** Default: `/doc2d`. */
  readonly doc2dRoot?: string;
  /** Default: `/ftm`. */
  readonly ftmRoot?: string;
}

/** An answer that reports a success: members that are then always there. */
type Success<Answer, Members extends keyof Answer> = Answer & Required<Pick<Answer, Members>>;

export type CreatedCertificate = Success<CreateCertificateResponse, 'keyReference' | 'certificate' | 'certificateFormat' | 'name'>;
export type Revocation = Success<RevokeCertificateResponse, 'date'>;
export type CheckedKey = Success<CheckKeyResponse, 'keyReference' | 'state' | 'certificate' | 'notAfter'>;
export type Signatures = Success<SignResponse, 'evidenceObject' | 'evidenceObjects'>;
export type PreparedSignatures = Success<RemotePreSignResponse, 'signatureThreadId' | 'signerData'>;
export type CompletedSignatures = Success<RemoteSignResponse, 'evidenceObject' | 'evidenceObjects'>;
export type DataZone = Success<CreateDataZoneResponse, 'dataZone'>;
export type Image2DDoc = Success<CreateImage2DDocResponse, 'image'>;

/**
 * The operations of one signetd service. Each method takes the body of the request, as the OpenAPI
 * document describes it, and returns that of the answer. Whatever is not a success is thrown as a
 * SignetdError.
 *
 * A request that gets no answer, or is refused for the moment, is sent again. Operations that must
 * not be carried out twice have an `Idempotency-Key` then.
 */
export class SignetdClient {
  /** The file transfer store. */
  readonly files: FileStore;
  readonly #connection: Connection;
  readonly #signRoot: string;
  readonly #doc2dRoot: string;

  constructor(options: ConnectionOptions & Prefixes) {
    this.#connection = new Connection(options);
    this.#signRoot = options.signRoot ?? '/sign';
    this.#doc2dRoot = options.doc2dRoot ?? '/doc2d';
    this.files = new FileStore(this.#connection, `${options.ftmRoot ?? '/ftm'}/files`);
  }

  /** Makes a key on the token and a certificate for it. The secret of the key is only in this answer. */
  async createCertificate(request: CreateCertificateRequest, options?: CallOptions): Promise<CreatedCertificate> {
    return this.#connection.call(`${this.#signRoot}/pki/createCertificate`, request, 'with-key', options);
  }

  /** Revokes a certificate, puts it on hold, or releases it. */
  async revokeCertificate(request: RevokeCertificateRequest, options?: CallOptions): Promise<Revocation> {
    return this.#connection.call(`${this.#signRoot}/pki/revokeCertificate`, request, 'with-key', options);
  }

  /** Makes a one-time password for one action with a key. */
  async sendOTP(request: SendOTPRequest, options?: CallOptions): Promise<SendOTPResponse> {
    return this.#connection.call(`${this.#signRoot}/pki/sendOTP`, request, 'with-key', options);
  }

  /** Sends a text to a subscriber. */
  async sendMessage(request: SendMessageRequest, options?: CallOptions): Promise<SendMessageResponse> {
    return this.#connection.call(`${this.#signRoot}/pki/sendMessage`, request, 'with-key', options);
  }

  /**
   * Changes the password of a key. It is not repeated without an answer: the change may have been
   * made, and the old password would then count as a wrong one. checkKey tells which one is right.
   */
  async changePassword(request: ChangePasswordRequest, options?: CallOptions): Promise<ChangePasswordResponse> {
    return this.#connection.call(`${this.#signRoot}/pki/changePassword`, request, 'refused', options);
  }

  /**
   * Returns the state of a key, and whether a secret is right. A wrong secret counts as a failed
   * attempt: a request with one is not repeated without an answer.
   */
  async checkKey(request: CheckKeyRequest, options?: CallOptions): Promise<CheckedKey> {
    const { password, authToken } = request.keyReference;
    const repetition = password === undefined && authToken === undefined ? 'always' : 'refused';
    return this.#connection.call(`${this.#signRoot}/pki/checkKey`, request, repetition, options);
  }

  /**
   * Destroys the private key on the token. It is not repeated without an answer; checkKey tells
   * whether the key is removed.
   */
  async removeKey(request: RemoveKeyRequest, options?: CallOptions): Promise<RemoveKeyResponse> {
    return this.#connection.call(`${this.#signRoot}/pki/removeKey`, request, 'refused', options);
  }

  /** Signs documents with a key of the service. */
  async sign(request: SignRequest, options?: CallOptions): Promise<Signatures> {
    return this.#connection.call(`${this.#signRoot}/signature/sign`, request, 'with-key', options);
  }

  /** Prepares a signature whose value is made elsewhere; signInTwoSteps does both steps. */
  async remotePreSign(request: RemotePreSignRequest, options?: CallOptions): Promise<PreparedSignatures> {
    // A repetition opens another session; the first expires.
    return this.#connection.call(`${this.#signRoot}/signature/remotePreSign`, request, 'always', options);
  }

  /** Completes a signature with the values of the device. */
  async remoteSign(request: RemoteSignRequest, options?: CallOptions): Promise<CompletedSignatures> {
    return this.#connection.call(`${this.#signRoot}/signature/remoteSign`, request, 'with-key', options);
  }

  /** Makes a data zone of 2D-Doc of an XML source. */
  async createDataZone(request: CreateDataZoneRequest, options?: CallOptions): Promise<DataZone> {
    return this.#connection.call(`${this.#doc2dRoot}/creator/createDataZone`, request, 'always', options);
  }

  /** Makes the picture of a 2D-Doc code, and signs it first if asked to. */
  async createImage2DDoc(request: CreateImage2DDocRequest, options?: CallOptions): Promise<Image2DDoc> {
    return this.#connection.call(`${this.#doc2dRoot}/creator/createImage2DDoc`, request, 'with-key', options);
  }

  /** Closes the connections that are kept open for further requests. */
  close(): void {
    this.#connection.close();
  }
}
