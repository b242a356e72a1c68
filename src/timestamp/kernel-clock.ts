import { native } from '../service/native.ts';
import type { AuthorityClock } from './time-stamp-authority.ts';

/** Asking the kernel costs little, but not for every token. */
const askEveryMs = 1000;

/**
 * The machine's clock. `errorMaxMilliseconds`: the authority stops where the kernel says that nothing synchronises the clock (chrony, systemd-timesyncd
 * and ntpd tell it by adjtimex), or that it may be further off; absent: nobody asks. `changed` is told of each fault that comes, goes, or is another one.
 */
export function kernelClock(
  errorMaxMilliseconds: number | undefined,
  changed: (fault: string | undefined) => void = () => undefined,
): AuthorityClock {
  let askedAt = -Infinity;
  let fault: string | undefined;
  return {
    now: () => new Date(),
    fault() {
      if (errorMaxMilliseconds === undefined) return undefined;
      const now = performance.now();
      if (now - askedAt >= askEveryMs) {
        askedAt = now;
        const before = fault;
        fault = faultNow(errorMaxMilliseconds);
        if (fault !== before) changed(fault);
      }
      return fault;
    },
  };
}

function faultNow(errorMaxMilliseconds: number): string | undefined {
  try {
    return faultOf(native().clockErrorMicroseconds(), errorMaxMilliseconds);
  } catch {
    return 'the kernel does not say whether the clock is synchronised';
  }
}

function faultOf(errorMicroseconds: number, maxMilliseconds: number): string | undefined {
  if (errorMicroseconds < 0) return 'the clock is not synchronised';
  const milliseconds = errorMicroseconds / 1000;
  return milliseconds <= maxMilliseconds
    ? undefined
    : `the clock may be ${Math.ceil(milliseconds)} ms off, more than the ${maxMilliseconds} ms allowed`;
}
