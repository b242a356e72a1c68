import type { IncomingMessage } from 'node:http';
import { freeMemory } from './free-memory.ts';
import { fileTooLarge, receiveBody } from './incoming-body.ts';
import { pieceCost } from './reading-turns.ts';

/** Maximum cost, in octets, of the pieces that may wait for the disk before reading pauses. */
const waitingMaxBytes = 1024 * 1024;

/**
 * Yields the body of a request as it arrives, in batches: while one is processed, the next is
 * collected. Asking for the next one frees the pieces of the last.
 * @throws {Problem} 413 as soon as the body exceeds the limit; 400 if it is incomplete or
 *   malformed; 408 if it takes too long
 */
export async function* bodyPieces(request: IncomingMessage, maxBytes: number): AsyncGenerator<readonly Buffer[], void> {
  let batch: Buffer[] = [];
  let waitingBytes = 0;
  let fault: Error | undefined;
  let isEnded = false;
  let wake: () => void = () => undefined;
  const flow = receiveBody(
    request,
    { maxBytes, tooLarge: fileTooLarge },
    {
      add: (chunk) => {
        if (fault !== undefined) return;
        batch.push(chunk);
        waitingBytes += pieceCost(chunk);
        if (waitingBytes >= waitingMaxBytes) flow.pause();
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
        flow.resume();
        yield ready;
        for (const piece of ready) freeMemory(piece);
      } else if (isEnded) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    // The code that answers decides whether the rest is read and discarded, or not read.
    fault ??= new Error('the rest of the body is not read');
    batch = [];
    flow.resume();
  }
}
