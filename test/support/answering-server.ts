import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What a server answers: bytes, or the number of a status. */
export type Answering = (request: Buffer) => Promise<Uint8Array | number> | Uint8Array | number;

/** A server on the loopback that answers as the test says, and counts. */
export class AnsweringServer {
  requests = 0;
  /** How it answers from now on. */
  answering: Answering;
  readonly #server: Server;

  private constructor(answering: Answering) {
    this.answering = answering;
    this.#server = createServer((request, response) => {
      this.requests += 1;
      void (async () => {
        const answer = await this.answering(await buffer(request));
        if (typeof answer === 'number') response.writeHead(answer).end();
        else response.end(answer);
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
