import type { IncomingMessage } from 'node:http';
import { onBroken } from './broken-request.ts';
import { Problem } from '../problem.ts';

/** So much waits for the disk before the client is asked to wait. */
const waitingMaxBytes = 1024 * 1024;

/**
 * The body of a request as it comes, in batches: while one is worked on, the next gathers.
 * @throws {Problem} 413 as soon as it grows beyond the limit; 400 where it ends early or is malformed; 408 where it takes too long
 */
export async function* bodyPieces(request: IncomingMessage, maxBytes: number): AsyncGenerator<readonly Buffer[], void> {
  let batch: Buffer[] = [];
  let waitingBytes = 0;
  let length = 0;
  let fault: Error | undefined;
  let isEnded = false;
  let wake: () => void = () => undefined;
  const fail = (error: Error): void => {
    fault ??= error;
    wake();
  };
  const endedEarly = (): void => {
    if (!request.complete) fail(new Problem(400, 'the body ended early'));
  };
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (fault !== undefined) return;
    if (length > maxBytes) {
      fail(tooLargeFile(maxBytes));
      return;
    }
    batch.push(chunk);
    waitingBytes += chunk.length;
    if (waitingBytes >= waitingMaxBytes) request.pause();
    wake();
  });
  request.on('end', () => {
    isEnded = true;
    wake();
  });
  request.on('close', endedEarly).on('error', endedEarly);
  onBroken(request, fail);
  try {
    for (;;) {
      if (fault !== undefined) throw fault;
      if (batch.length > 0) {
        const ready = batch;
        batch = [];
        waitingBytes = 0;
        request.resume();
        yield ready;
      } else if (isEnded) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    // What comes after this is read and dropped, or not read: whoever answers decides.
    fault ??= new Error('nobody takes the rest of the body');
    batch = [];
    request.resume();
  }
}

export function tooLargeFile(maxBytes: number): Problem {
  return new Problem(413, `a file has at most ${maxBytes} bytes`, { headers: { Connection: 'close' } });
}
