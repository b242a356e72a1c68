/**
 * What comes of some work, for who waits no longer than until a signal. The work itself goes on:
 * what it comes to then is nobody's concern.
 * @throws the reason of the signal, once it is aborted
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
