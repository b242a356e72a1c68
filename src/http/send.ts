import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';
import type { ContentReader } from '../documents/transfer/contents.ts';
import { currentRequest } from '../telemetry/current-request.ts';

/** Semantic version of the interface (contract §10). */
export const apiVersion = '1.0.0';

const nothing = ["'none'"];

/**
 * Returns the headers of every answer: helmet's and our own. Computed once, since they never change
 * and setting a dozen headers one by one costs more than parsing the request.
 */
function fixedHeaders(sources: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const directives = { defaultSrc: nothing, frameAncestors: nothing, ...sources };
  helmet({ contentSecurityPolicy: { useDefaults: false, directives } })(request, response, () => undefined);
  response.setHeader('X-API-Version', apiVersion).setHeader('Cache-Control', 'no-store');
  return Object.entries(response.getHeaders()).flatMap(([name, value]) => [name, String(value)]);
}

/** The interface shows no pages. */
const interfaceHeaders = fixedHeaders({});

/**
 * A page with one style sheet and one script in it, named by their hashes (CSP Level 3 §2.3.1). It
 * loads nothing and sends nothing.
 */
export function pageSender({
  style,
  script,
}: Readonly<Record<'style' | 'script', string>>): (response: ServerResponse, page: string) => void {
  const headers = fixedHeaders({ styleSrc: [style], scriptSrc: [script], baseUri: nothing, formAction: nothing });
  return (response, page) => {
    const length = String(Buffer.byteLength(page));
    response.writeHead(200, [...headers, 'Content-Type', 'text/html; charset=utf-8', 'Content-Length', length]).end(page);
  };
}

/** Returns the header with the request's name in the logs. */
function requestId(): readonly string[] {
  const known = currentRequest();
  return known === undefined ? [] : ['X-Request-Id', known.request];
}

/** Sends a whole answer: status, type, further headers, body. */
export function send(
  response: ServerResponse,
  status: number,
  mediaType: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const more = Object.entries(headers).flat();
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, [...interfaceHeaders, ...requestId(), 'Content-Type', mediaType, 'Content-Length', length, ...more]).end(body);
}

/** Begins an answer of a known length and any media type. */
export function beginAnswer(
  response: ServerResponse,
  { mediaType, bytes, headers }: { readonly mediaType: string; readonly bytes: number; readonly headers: Readonly<Record<string, string>> },
): void {
  const more = Object.entries(headers).flat();
  response.writeHead(200, [...interfaceHeaders, ...requestId(), 'Content-Type', mediaType, 'Content-Length', String(bytes), ...more]);
}

/** Sends 204 without a body. */
export function sendNothing(response: ServerResponse): void {
  response.writeHead(204, [...interfaceHeaders, ...requestId()]).end();
}

/** How much is encrypted at a time. */
const sliceBytes = 128 * 1024;

/**
 * Sends an answer of status 200. Long pieces go in slices, as fast as the client takes them: to
 * encrypt all at once would hold up everybody else.
 */
export async function sendPieces(response: ServerResponse, mediaType: string, pieces: readonly (string | Uint8Array)[]): Promise<void> {
  const [first] = pieces;
  if (pieces.length === 1 && typeof first === 'string') {
    send(response, 200, mediaType, first);
    return;
  }
  const length = pieces.reduce((sum, piece) => sum + (typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length), 0);
  response.writeHead(200, [...interfaceHeaders, ...requestId(), 'Content-Type', mediaType, 'Content-Length', String(length)]);
  for (const piece of pieces) {
    if (typeof piece === 'string') response.write(piece);
    else await sendSlices(response, piece);
  }
  response.end();
}

/**
 * Sends a file that is open, as fast as the client takes it; one piece is read while the one before
 * it leaves. Ends early where the client goes.
 * @throws the error of the disk or of the object store
 */
export async function sendFile(response: ServerResponse, file: Pick<ContentReader, 'read'>, bytes: number): Promise<void> {
  let next = pieceAt(file, 0, bytes);
  for (let offset = 0; offset < bytes && !response.destroyed;) {
    const piece = await next;
    if (piece.length === 0) throw new Error('the file is shorter than it was');
    offset += piece.length;
    next = pieceAt(file, offset, bytes);
    // It may fail while the piece before it is on its way: that is seen in its turn.
    next.catch(() => undefined);
    if (!response.write(piece)) await taken(response);
  }
  await next.catch(() => undefined);
  response.end();
}

async function pieceAt(file: Pick<ContentReader, 'read'>, offset: number, end: number): Promise<Buffer> {
  const piece = Buffer.allocUnsafeSlow(Math.min(sliceBytes, end - offset));
  if (piece.length === 0) return piece;
  const { bytesRead } = await file.read(piece, 0, piece.length, offset);
  return piece.subarray(0, bytesRead);
}

async function sendSlices(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  for (let offset = 0; offset < bytes.length && !response.destroyed; offset += sliceBytes) {
    // A copy: the bytes may lie in memory that threads share.
    if (!response.write(Buffer.from(bytes.subarray(offset, offset + sliceBytes)))) await taken(response);
  }
}

/** Until the client has taken what was sent, or has gone. */
async function taken(response: ServerResponse): Promise<void> {
  // It has said so already, and says so once.
  if (response.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
