import { tryRun } from './machine.ts';

/** More would hide the reason again. */
const lines = 6;

/**
 * Returns the last lines of the journal that explain why a unit did not start: those of its own
 * processes before those of systemd, of the last start before earlier ones, and errors and warnings
 * before others.
 * @param since lines of the unit before it are not its reason: milliseconds since the epoch
 */
export function reasonLines(unit: string, since: number): string[] {
  const id = tryRun('systemctl', ['show', '--property=InvocationID', '--value', unit]).output;
  const places = [
    ...(/^[0-9a-f]{32}$/.test(id) ? [`_SYSTEMD_INVOCATION_ID=${id}`] : []),
    // It may be starting again by now.
    `_SYSTEMD_UNIT=${unit}`,
  ].map((own) => [`--since=@${Math.floor(since / 1000)}`, own]);
  const searches = [...places.flatMap((place) => [['--priority=warning', ...place], place]), [`--unit=${unit}`]];
  for (const search of searches) {
    const { status, output } = tryRun('journalctl', ['--no-pager', '--quiet', '--output=cat', `--lines=${lines}`, ...search]);
    if (status === 0 && output !== '') return output.split('\n');
  }
  return [];
}
