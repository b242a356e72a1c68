import type { IncomingMessage } from 'node:http';
import { Problem } from './problem.ts';

/** Content-Encoding, media type and size, in this order (contract §2). @throws {Problem} 415, 413 */
export function checkBodyHeaders(request: IncomingMessage, maxBytes: number): void {
  if (request.headers['content-encoding'] !== undefined) throw new Problem(415, 'Content-Encoding is not taken: send the body as it is');
  const mediaType = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') throw new Problem(415, 'the Content-Type of the body must be application/json');
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

/** The bytes of the body. @throws {Problem} 413 as soon as it grows beyond the limit; 400 where it ends early. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) chunks.push(chunk);
      else reject(tooLarge(maxBytes));
    });
    request.on('end', () => {
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
    });
    const endedEarly = (): void => {
      if (!request.complete) reject(new Problem(400, 'the body ended early'));
    };
    request.on('close', endedEarly).on('error', endedEarly);
  });
}

function tooLarge(maxBytes: number): Problem {
  // The rest of the body is not read, so the connection cannot go on.
  return new Problem(413, `a body has at most ${maxBytes} bytes`, { headers: { Connection: 'close' } });
}
