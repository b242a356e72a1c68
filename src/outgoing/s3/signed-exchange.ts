import { Agent as PlainAgent, type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import aws4 from 'aws4';
import { boundedContext } from '../../service/bounded-context.ts';
import { S3Failed } from './s3-failed.ts';
import { errorCode } from '../../telemetry/error-code.ts';

/** SHA-256 of no content, hexadecimal. */
const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const freeConnectionsMax = 16;

/** A bucket, and how it is reached. */
export interface S3Endpoint {
  readonly url: URL;
  readonly bucket: string;
  readonly region: string;
  /** Whether the bucket is named in the path of a request, instead of its host name. */
  readonly pathStyle: boolean;
  /** Authorities trusted for https, PEM. Default: those that Node trusts. */
  readonly certificateAuthority?: string | undefined;
  /** Time without progress after which a request has failed. */
  readonly timeoutMs: number;
  /** Reads the keys anew for each request, so that renewed ones are used. */
  readonly credentials: () => { readonly accessKeyId: string; readonly secretAccessKey: string };
}

export interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** Empty: the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Hexadecimal. Default: of no content. */
  readonly contentSha256?: string;
  readonly bytes?: number;
  /** Destroyed in any case. */
  readonly body?: Readable | undefined;
}

/** Sends requests with a signature (AWS Signature Version 4) over connections that are kept open. */
export class SignedExchange {
  readonly timeoutMs: number;
  readonly #endpoint: S3Endpoint;
  readonly #agent: PlainAgent;

  constructor(endpoint: S3Endpoint) {
    this.#endpoint = endpoint;
    this.timeoutMs = endpoint.timeoutMs;
    const { url, certificateAuthority: ca } = endpoint;
    const pool = { keepAlive: true, maxFreeSockets: freeConnectionsMax };
    this.#agent =
      url.protocol === 'https:'
        ? new TlsAgent({ ...pool, secureContext: boundedContext({ minVersion: 'TLSv1.2', ...(ca === undefined ? {} : { ca }) }) })
        : new PlainAgent(pool);
  }

  /**
   * Returns the answer, whatever its status, before its body has been read.
   * @throws {S3Failed} unavailable
   */
  async send(asked: S3Request): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const { body } = asked;
    const sent = (this.#endpoint.url.protocol === 'https:' ? tlsRequest : plainRequest)(this.#signed(asked));
    const failed = (error: unknown): void => {
      reject(
        error instanceof S3Failed
          ? error
          : new S3Failed('unavailable', `no connection to the object store (${errorCode(error) ?? 'unknown reason'})`, error),
      );
      body?.destroy();
    };
    sent.once('timeout', () => {
      sent.destroy(new S3Failed('unavailable', `no answer of the object store within ${this.timeoutMs / 1000} s`));
    });
    // There may be more than one: while the body is sent, and when the connection ends.
    sent.on('error', failed);
    sent.once('close', () => {
      failed(new S3Failed('unavailable', 'the object store ended the connection without an answer'));
    });
    sent.once('response', (response: IncomingMessage) => {
      // Whoever reads the answer watches the time, since he may pause.
      response.socket.setTimeout(0);
      // An answer that does not wait for the body is a refusal: the rest is not sent.
      if (body !== undefined && !sent.writableFinished) response.once('close', () => sent.destroy());
      resolve(response);
    });
    if (body === undefined) sent.end();
    else {
      body.once('error', (error) => sent.destroy(error));
      body.pipe(sent);
    }
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Returns the options of a request with its signature. */
  #signed({ method, key, query, headers, contentSha256 = emptySha256, bytes }: S3Request): RequestOptions {
    const { url, bucket, region, pathStyle, credentials } = this.#endpoint;
    const host = pathStyle ? url.hostname : `${bucket}.${url.hostname}`;
    const path = `${url.pathname.replace(/\/$/, '')}${pathStyle ? `/${bucket}` : ''}/${key}`;
    const options = {
      method,
      host: host.replace(/^\[|\]$/g, ''),
      port: url.port,
      path: query === undefined ? path : `${path}?${new URLSearchParams(query).toString()}`,
      headers: {
        Host: url.port === '' ? host : `${host}:${url.port}`,
        'X-Amz-Content-Sha256': contentSha256,
        ...(bytes === undefined ? {} : { 'Content-Length': bytes }),
        ...headers,
      },
    };
    const { headers: signed, path: signedPath } = aws4.sign({ ...options, service: 's3', region }, credentials());
    return { ...options, headers: signed, path: signedPath, agent: this.#agent, timeout: this.timeoutMs };
  }
}
