import type { IncomingMessage } from 'node:http';
import { fileTooLarge, receiveBody } from './incoming-body.ts';

/** How much may wait for the disk before reading pauses. */
const waitingMaxBytes = 1024 * 1024;

/**
 * Yields the body of a request as it comes, in batches: while one is worked on, the next gathers.
 * @throws {Problem} 413 as soon as it grows beyond the limit; 400 where it ends early or is
 *   malformed; 408 where it takes too long
 */
export async function* bodyPieces(request: IncomingMessage, maxBytes: number): AsyncGenerator<readonly Buffer[], void> {
  let batch: Buffer[] = [];
  let waitingBytes = 0;
  let fault: Error | undefined;
  let isEnded = false;
  let wake: () => void = () => undefined;
  receiveBody(
    request,
    { maxBytes, tooLarge: fileTooLarge },
    {
      add: (chunk) => {
        if (fault !== undefined) return;
        batch.push(chunk);
        waitingBytes += chunk.length;
        if (waitingBytes >= waitingMaxBytes) request.pause();
        wake();
      },
      end: () => {
        isEnded = true;
        wake();
      },
      fail: (error) => {
        fault ??= error;
        wake();
      },
    },
  );
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
