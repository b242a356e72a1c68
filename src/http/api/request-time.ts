import type { IncomingMessage } from 'node:http';
import type { Guard } from './guard.ts';
import type { RequestServices } from './request-services.ts';

/**
 * Limits how long a request may take to come: uploads longer than others. The server itself has one
 * time-out for all of them, the longest, which is enough without a transfer store.
 */
export function limitTime(
  request: IncomingMessage,
  { guard, limits, transfers }: Pick<RequestServices, 'guard' | 'limits' | 'transfers'>,
  isUpload: boolean,
): void {
  if (transfers === undefined) return;
  const seconds = isUpload ? transfers.config.uploadTimeoutSeconds : limits.requestTimeoutSeconds;
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
