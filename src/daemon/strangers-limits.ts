import type { SigningLimitSettings } from '../certificates/ocsp/signing-limit.ts';
import type { Config } from '../config/config.ts';

/** Fewer than the token serves at once, so that callers find it free. */
const atOnceMax = 4;
const waitingMax = 100;

/** What strangers who ask for OCSP answers may have of the token. */
export function ocspLimits({ listeners }: Pick<Config, 'listeners'>): SigningLimitSettings {
  return { signaturesPerSecond: listeners.public?.ocspSignaturesPerSecond ?? 1, atOnceMax, waitingMax };
}

/** What strangers who ask for time-stamps may have of it. */
export function timeStampLimits({ listeners }: Pick<Config, 'listeners'>): SigningLimitSettings {
  return { signaturesPerSecond: listeners.public?.timeStampsPerSecond ?? 1, atOnceMax, waitingMax };
}
