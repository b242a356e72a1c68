import type { IncomingMessage } from 'node:http';
import type { TransferStore } from '../../documents/transfer/transfer-store.ts';
import { isUpload } from '../files/paths.ts';
import type { Guard } from './guard.ts';

interface Times {
  readonly guard: Guard;
  readonly ftmRoot: string;
  readonly transfers?: Pick<TransferStore, 'config'> | undefined;
}

/**
 * How long a request may take to come: uploads longer than others. The server itself has one time-out for all of them, which is the longest; without uploads that is
 * enough.
 */
export function limitTime(request: IncomingMessage, { guard, ftmRoot, transfers }: Times): void {
  if (transfers === undefined) return;
  const seconds = isUpload(request, ftmRoot) ? transfers.config.uploadTimeoutSeconds : guard.limits.requestTimeoutSeconds;
  // Most come whole with their head, and need no timer.
  setImmediate(() => {
    if (!request.complete && !request.destroyed) endAfter(request, seconds, guard);
  });
}

function endAfter(request: IncomingMessage, seconds: number, { malformed }: Guard): void {
  const timer = setTimeout(() => {
    if (!request.complete) malformed.tooLate(request);
  }, 1000 * seconds);
  const clear = (): void => {
    clearTimeout(timer);
  };
  request.once('end', clear).once('close', clear);
}
