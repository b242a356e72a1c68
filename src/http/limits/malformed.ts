import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Duplex } from 'node:stream';
import { breakRequest } from '../body/incoming-body.ts';
import { Problem, problemBody } from '../problem.ts';
import { apiVersion } from '../send.ts';

/** The requests and answers in progress on one connection: both come in order. */
interface Connection {
  request: IncomingMessage | undefined;
  answers: number;
  /** Set as soon as the connection is broken: nothing further is read from it. */
  last: (() => void) | undefined;
}

const phrases: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
};

/** How long a client may take to read the last answer of a connection. */
const lingerMs = 5000;

/**
 * Answers bytes that are not HTTP, and requests that take too long. Such an answer is the last of
 * its connection, and never comes before, or instead of, the answers to valid requests that came
 * earlier.
 */
export class MalformedRequests {
  readonly #connections = new WeakMap<Duplex, Connection>();

  /** Follows the server's requests and takes its `clientError`. */
  watch(server: Server): void {
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      this.#broken(error, socket);
    });
  }

  /** Called with each request before it is worked on. */
  follow(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connectionOf(request.socket);
    connection.request = request;
    connection.answers += 1;
    response.once('close', () => {
      connection.answers -= 1;
      if (connection.answers === 0) connection.last?.();
    });
  }

  /** Ends a request whose body has not come in its time. */
  tooLate({ socket }: IncomingMessage): void {
    this.#broken(Object.assign(new Error('the request took too long'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket);
  }

  #connectionOf(socket: Duplex): Connection {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const fresh: Connection = { request: undefined, answers: 0, last: undefined };
    this.#connections.set(socket, fresh);
    return fresh;
  }

  #broken(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const connection = this.#connectionOf(socket);
    if (connection.last !== undefined) return;
    socket.pause();
    const problem = problemOf(error);
    const { request } = connection;
    if (request !== undefined && !request.complete) {
      // This request's body breaks off: its reader answers, unless it has answered already.
      connection.last = (): void => void socket.destroy();
      breakRequest(request, problem);
    } else {
      connection.last = (): void => {
        end(socket, problem);
      };
    }
    if (connection.answers === 0) connection.last();
  }
}

function problemOf({ code }: NodeJS.ErrnoException): Problem {
  const headers = { Connection: 'close' };
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem(431, 'the request head is too large', { headers });
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Problem(413, 'the chunk extensions are too large', { headers });
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem(408, 'the request took too long to arrive', { headers });
    case undefined:
    default:
      return new Problem(400, 'this is not an HTTP/1.1 request', { headers });
  }
}

function end(socket: Duplex, problem: Problem): void {
  const body = problemBody(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${phrases[problem.status] ?? 'Error'}`,
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-API-Version: ${apiVersion}`,
    'X-Content-Type-Options: nosniff',
    'Cache-Control: no-store',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
