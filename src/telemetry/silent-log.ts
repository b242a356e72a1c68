import type { Logger } from './log.ts';

/** A log that drops everything, for code whose caller reports errors itself. */
export const silentLog: Logger = { error: () => undefined, warn: () => undefined, info: () => undefined, debug: () => undefined };
