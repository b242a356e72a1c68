import { AsyncLocalStorage } from 'node:async_hooks';
import type { Caller } from './caller.ts';

/**
 * Secrets are compared deep in the rooms below, and each counts for its caller: an async context
 * leaves no operation that could forget to name it.
 */
const current = new AsyncLocalStorage<Caller>();

/** Runs the work of a request for its caller. */
export function whileCalledBy<T>(caller: Caller, work: () => T): T {
  return current.run(caller, work);
}

/** Returns the caller of the current request; undefined outside of one. */
export function callerNow(): Caller | undefined {
  return current.getStore();
}
