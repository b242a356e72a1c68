import { NotHandedOver } from '../../audit/syslog/hand-over.ts';
import { RegistrationEnded } from '../../clients/admission.ts';
import { isFault } from '../../faults.ts';
import { TransferStoreUnavailable } from '../../documents/transfer/transfer-store-unavailable.ts';
import { SecretsPaced } from '../../keys/secret-pace.ts';
import { Refusal, resultCodes } from '../../result-codes.ts';
import { StoreUnavailable } from '../../state/store-unavailable.ts';
import type { Logger } from '../../telemetry/log.ts';
import { TokenBusy } from '../../token/token.ts';
import { resultOf } from './answer.ts';
import { Problem } from '../problem.ts';
import type { Ending } from './recorded.ts';
import { recordedReason } from './recorded-reason.ts';

/** How a request ends whose client is gone; only the audit log shows it. */
export class ClientGone extends Problem {
  constructor(detail: string) {
    super(400, detail);
  }
}

/** Returns how a request that failed with an error ends. */
export function endingOf(
  error: unknown,
  { path, echo, log }: { readonly path: string; readonly echo: Ending['echo']; readonly log: Logger },
): Ending | Problem {
  if (error instanceof Problem) return error;
  if (error instanceof RegistrationEnded) return noLongerRegistered();
  if (isFault(error, 'CLIENT_GONE')) return new ClientGone(error.message);
  // No business outcome is known.
  if (error instanceof StoreUnavailable) return storeAway(error, path, log);
  if (error instanceof TransferStoreUnavailable) return transferStoreAway(error, path, log);
  if (error instanceof NotHandedOver) return notHandedOver(error);
  if (error instanceof SecretsPaced) return tooManyWrongSecrets(error);
  if (error instanceof TokenBusy) return overloaded(error.retryAfterSeconds);
  const result = resultOf(error, path, log);
  return { result, answer: error instanceof Refusal ? error.answer : {}, echo, reason: recordedReason(error, result.message) };
}

export function storeAway(error: StoreUnavailable, path: string, log: Logger): Problem {
  log.error('the state store did not serve a request', { path, reason: error.message });
  return new Problem(503, 'the state store is not available', { headers: { 'Retry-After': '1' } });
}

function transferStoreAway(error: TransferStoreUnavailable, path: string, log: Logger): Problem {
  log.error('the transfer store did not serve a request', { path, reason: error.message });
  return new Problem(503, 'the transfer store is not available', { headers: { 'Retry-After': '5' } });
}

/** Nothing was done. The result code is the one of a log that cannot be written. */
export function notHandedOver({ code, message }: NotHandedOver): Problem {
  const { major, minor } = resultCodes[code];
  return new Problem(503, message, {
    members: { resultMajor: major, resultMinor: minor },
    headers: { 'Retry-After': String(NotHandedOver.retryAfterSeconds) },
  });
}

function tooManyWrongSecrets({ message, retryAfterSeconds }: SecretsPaced): Problem {
  const { major, minor } = resultCodes.TOO_MANY_WRONG_SECRETS;
  return new Problem(429, message, {
    members: { code: `${major}/${minor}`, resultMajor: major, resultMinor: minor },
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
}

export function overloaded(retryAfterSeconds: number): Problem {
  return new Problem(503, 'more requests are waiting for the token than it can serve in time', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
}

export function noLongerRegistered(): Problem {
  return new Problem(403, 'this client certificate is no longer registered, or no longer for this operation');
}
