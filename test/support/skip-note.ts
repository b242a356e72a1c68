/** Ends the name of a test or suite that `skipIf` leaves out, so that the report has the reason; empty where there is none. */
export function skipNote(reason: string | undefined): string {
  return reason === undefined ? '' : ` (skipped: ${reason})`;
}

/** Why a test that acts as several users, or gives files away, cannot run. */
export const notRoot = process.getuid?.() === 0 ? undefined : 'only root can be other users';

/** Why a test that looks into the daemon or the token host cannot run. */
export const noTracing = notRoot === undefined ? undefined : 'only root sees the memory and files of a process that guards them';
