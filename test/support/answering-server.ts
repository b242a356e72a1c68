import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

type Answer = Uint8Array | number | AsyncIterable<Uint8Array>;

/** What a server answers: bytes, at once or one after the other, or the number of a status. */
export type Answering = (request: Buffer) => Promise<Answer> | Answer;

/** A server on the loopback that answers as the test says, and counts. */
export class AnsweringServer {
  requests = 0;
  /** The headers of each request. */
  readonly headers: IncomingHttpHeaders[] = [];
  /** How it answers from now on. */
  answering: Answering;
  readonly #server: Server;

  private constructor(answering: Answering) {
    this.answering = answering;
    this.#server = createServer((request, response) => {
      this.requests += 1;
      this.headers.push(request.headers);
      void (async () => {
        const answer = await this.answering(await buffer(request));
        if (typeof answer === 'number') response.writeHead(answer, answer < 400 ? { Location: this.url } : {}).end();
        else if (answer instanceof Uint8Array) response.end(answer);
        // Who asked goes away, sooner or later.
        else await pipeline(answer, response).catch(() => undefined);
      })();
    });
  }

  static async start(answering: Answering): Promise<AnsweringServer> {
    const server = new AnsweringServer(answering);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
