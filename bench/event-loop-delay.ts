/** How late the daemon's event loop was since the last call, 99th percentile in milliseconds, as its own metrics say. */
export async function eventLoopDelayP99Ms(opsUrl: string): Promise<number> {
  const answer = await fetch(new URL('/metrics', opsUrl));
  const found = /^signetd_event_loop_delay_seconds\{quantile="0\.99"\} (\S+)$/m.exec(await answer.text());
  if (found === null) throw new Error('the metrics say nothing of the event loop');
  return Number(found[1]) * 1000;
}
