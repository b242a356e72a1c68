import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';

/** What a body must be. */
export interface ShortBody {
  readonly mediaType: string;
  readonly maxBytes: number;
}

/** The body of a stranger's request, or what is wrong with it at the level of HTTP. Rejects where the client goes away. */
export async function readShortBody(request: IncomingMessage, { mediaType: wanted, maxBytes }: ShortBody): Promise<Uint8Array | Problem> {
  const { headers } = request;
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';');
  // What is not read to its end ends the connection.
  const close = { Connection: 'close' };
  if (mediaType.trim().toLowerCase() !== wanted) return new Problem(415, `the body is ${wanted}`, { headers: close });
  if (headers['content-encoding'] !== undefined) return new Problem(415, 'no content encoding is taken', { headers: close });
  const tooLarge = new Problem(413, `a request has at most ${maxBytes} octets`, { headers: close });
  if (Number(headers['content-length'] ?? 0) > maxBytes) return tooLarge;
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    request.on('data', (piece: Buffer) => {
      length += piece.length;
      pieces.push(piece);
      if (length <= maxBytes) return;
      request.removeAllListeners('data').pause();
      resolve(tooLarge);
    });
    request.on('end', () => {
      resolve(Buffer.concat(pieces, length));
    });
    request.on('error', reject);
  });
}
