/**
 * Returns the result of some work if it is done before a signal aborts. The work itself continues;
 * its later result is ignored.
 * @throws the reason of the aborted signal
 */
export async function within<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => {
    reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
