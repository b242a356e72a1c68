import { native } from '../service/native.ts';
import type { AuthorityClock } from './time-stamp-authority.ts';

/** How often the kernel is asked; once per token would be too expensive. */
const askEveryMs = 1000;

/**
 * Returns the machine's clock. With `errorMaxMilliseconds`, the authority stops if the kernel
 * reports that the clock is not synchronised (chrony, systemd-timesyncd and ntpd set this through
 * adjtimex), or that its error may be larger; absent: not checked. `changed` is called when a fault
 * appears, disappears or changes.
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
    return 'the kernel does not report whether the clock is synchronised';
  }
}

function faultOf(errorMicroseconds: number, maxMilliseconds: number): string | undefined {
  if (errorMicroseconds < 0) return 'the clock is not synchronised';
  const milliseconds = errorMicroseconds / 1000;
  return milliseconds <= maxMilliseconds
    ? undefined
    : `the clock may be ${Math.ceil(milliseconds)} ms off, more than the ${maxMilliseconds} ms allowed`;
}
