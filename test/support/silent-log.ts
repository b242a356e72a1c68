import type { Logger } from '../../src/telemetry/log.ts';

/** Keeps what was logged, so that tests can look at it. */
export function recordingLog(): Logger & { readonly lines: string[] } {
  const lines: string[] = [];
  const say = (message: string, fields?: Record<string, unknown>): void => {
    lines.push(`${message} ${JSON.stringify(fields ?? {})}`);
  };
  return { lines, error: say, warn: say, info: say, debug: say };
}
