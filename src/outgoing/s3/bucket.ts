import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ObjectStream } from './object-stream.ts';
import { answeredFailure, errorCodeOf, S3Failed } from './s3-failed.ts';
import { SignedExchange, type S3Endpoint } from './signed-exchange.ts';

/** Milliseconds before the second and the third attempt. */
const pausesMs = [200, 800];
const textMaxBytes = 4 * 1024 * 1024;
const listedAtOnce = 1000;

/** Content to be stored, which can be read more than once. */
export interface ObjectContent {
  readonly bytes: number;
  /** Hexadecimal. It is signed with the request, so that the server refuses any other content. */
  readonly sha256: string;
  readonly read: () => Readable;
}

export interface ListedObject {
  readonly key: string;
  /** Milliseconds since 1970 (UTC), by the clock of the server. */
  readonly changedAtMs: number;
}

/**
 * One bucket of an S3-compatible object store (Amazon S3, API Reference). Every request can be
 * repeated without harm, so requests are, if the server fails or the connection breaks. Keys
 * contain only unreserved characters and slashes.
 */
export class S3Bucket {
  readonly #exchange: SignedExchange;

  constructor(endpoint: S3Endpoint) {
    this.#exchange = new SignedExchange(endpoint);
  }

  /**
   * Stores an object, which becomes visible when it is complete (PutObject).
   * @throws {S3Failed}
   */
  async put(key: string, { bytes, sha256, read }: ObjectContent): Promise<void> {
    await repeated(async () => {
      await this.#text(
        await this.#exchange.send({ method: 'PUT', key, contentSha256: sha256, bytes, body: bytes === 0 ? undefined : read() }),
      );
    });
  }

  /**
   * Opens an object for reading in order (GetObject). `bytes`: its size. Undefined: there is none.
   * @throws {S3Failed} also for another size
   */
  async open(key: string, bytes: number): Promise<ObjectStream | undefined> {
    const from = async (start: number): Promise<IncomingMessage | undefined> => repeated(async () => this.#get(key, start, bytes));
    const first = await from(0);
    return first === undefined ? undefined : new ObjectStream(first, { bytes, timeoutMs: this.#exchange.timeoutMs, from });
  }

  /** Deletes an object, if there is one (DeleteObject). @throws {S3Failed} */
  async delete(key: string): Promise<void> {
    await repeated(async () => {
      const response = await this.#exchange.send({ method: 'DELETE', key });
      if (response.statusCode !== 404) await this.#text(response);
      else if (errorCodeOf(await textOf(response)) !== 'NoSuchKey') throw answeredFailure(404, '');
    });
  }

  /**
   * Lists the objects whose keys begin with a prefix, in batches (ListObjectsV2).
   * @throws {S3Failed}
   */
  async *list(prefix: string): AsyncGenerator<readonly ListedObject[], void> {
    for (let after = ''; ;) {
      const listed = await this.#listAfter(prefix, after, listedAtOnce);
      const last = listed.at(-1);
      // The second: the server does not know `start-after`.
      if (last === undefined || last.key === after) return;
      yield listed;
      after = last.key;
    }
  }

  /** Checks that the bucket answers. @throws {S3Failed} */
  async probe(prefix: string): Promise<void> {
    await this.#listAfter(prefix, '', 1);
  }

  close(): void {
    this.#exchange.close();
  }

  async #listAfter(prefix: string, after: string, count: number): Promise<ListedObject[]> {
    const query = { 'list-type': '2', 'max-keys': String(count), ...(prefix === '' ? {} : { prefix }) };
    return repeated(async () => {
      const response = await this.#exchange.send({
        method: 'GET',
        key: '',
        query: after === '' ? query : { ...query, 'start-after': after },
      });
      return [...(await this.#text(response)).matchAll(/<Contents>(.*?)<\/Contents>/gs)].flatMap(([, object = '']) => {
        const key = /<Key>([^<&]*)<\/Key>/.exec(object)?.[1];
        const changedAtMs = Date.parse(/<LastModified>([^<]*)<\/LastModified>/.exec(object)?.[1] ?? '');
        return key === undefined || Number.isNaN(changedAtMs) ? [] : [{ key, changedAtMs }];
      });
    });
  }

  async #get(key: string, start: number, bytes: number): Promise<IncomingMessage | undefined> {
    const response = await this.#exchange.send({ method: 'GET', key, ...(start === 0 ? {} : { headers: { Range: `bytes=${start}-` } }) });
    const { statusCode: status = 0 } = response;
    if (status === (start === 0 ? 200 : 206)) {
      const length = Number(response.headers['content-length'] ?? Number.NaN);
      if (length === bytes - start) return response;
      response.destroy();
      throw new S3Failed('refused', `an object has ${length + start} bytes, but was stored with ${bytes}`);
    }
    const text = await textOf(response);
    if (status === 404 && errorCodeOf(text) === 'NoSuchKey') return undefined;
    throw answeredFailure(status, text);
  }

  /** Returns the text of a successful answer. @throws {S3Failed} for any other */
  async #text(response: IncomingMessage): Promise<string> {
    const text = await textOf(response);
    const { statusCode: status = 0 } = response;
    if (status < 200 || status > 299) throw answeredFailure(status, text);
    return text;
  }
}

/** Carries out a request, again if the server may serve it next time. */
async function repeated<T>(request: () => Promise<T>): Promise<T> {
  for (const pauseMs of pausesMs) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof S3Failed) || error.kind !== 'unavailable') throw error;
    }
    await delay(pauseMs);
  }
  return request();
}

async function textOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of response) {
      // Node's HTTP parser passes bytes if no encoding is set.
      const bytes = piece as Buffer;
      length += bytes.length;
      if (length > textMaxBytes) throw new Error(`it has more than ${textMaxBytes} bytes`);
      pieces.push(bytes);
    }
  } catch (error) {
    throw new S3Failed('unavailable', "the object store's answer could not be read", error);
  }
  return Buffer.concat(pieces).toString('utf8');
}
