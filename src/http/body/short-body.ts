import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.ts';
import { announcedLength, bodyTooLarge, receiveBody, refuseContentEncoding } from './incoming-body.ts';

/** What a body must be. */
export interface ShortBody {
  readonly mediaType: string;
  readonly maxBytes: number;
}

// What is not read to its end ends the connection.
const close = { Connection: 'close' };

/**
 * Returns the body of a stranger's request, or what is wrong with it at the level of HTTP.
 * @throws where the client goes away
 */
export async function readShortBody(request: IncomingMessage, wanted: ShortBody): Promise<Uint8Array | Problem> {
  try {
    checkHeaders(request, wanted);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const flow = receiveBody(
      request,
      { maxBytes: wanted.maxBytes, tooLarge: bodyTooLarge },
      {
        add: (piece) => {
          pieces.push(piece);
        },
        end: () => {
          resolve(Buffer.concat(pieces));
        },
        fail: (error) => {
          if (!(error instanceof Problem) || error.status !== 413) {
            reject(error);
            return;
          }
          flow.pause();
          resolve(error);
        },
      },
    );
  });
}

function checkHeaders(request: IncomingMessage, { mediaType: wanted, maxBytes }: ShortBody): void {
  const [mediaType = ''] = (request.headers['content-type'] ?? '').split(';');
  if (mediaType.trim().toLowerCase() !== wanted) throw new Problem(415, `the Content-Type must be ${wanted}`, { headers: close });
  refuseContentEncoding(request, 'body', close);
  if (announcedLength(request) > maxBytes) throw bodyTooLarge(maxBytes);
}
