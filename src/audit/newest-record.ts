import { errorCode } from '../telemetry/error-code.ts';
import { lastLines } from './last-lines.ts';

/** A start with a clock further behind the newest record waits until the clock is right, or confirmed. */
export const clockBehindMaxMs = 60 * 60 * 1000;

/**
 * Returns the time of the newest record of the log in a directory, in milliseconds since the epoch;
 * undefined if there is none, or it tells no time.
 * @throws {Error} if the directory cannot be read
 */
export async function newestRecordAt(directory: string): Promise<number | undefined> {
  try {
    const [line] = await lastLines(directory, 1);
    const record: unknown = line === undefined ? undefined : JSON.parse(line);
    if (typeof record !== 'object' || record === null || !('time' in record) || typeof record.time !== 'string') return undefined;
    const at = Date.parse(record.time);
    return Number.isNaN(at) ? undefined : at;
  } catch (error) {
    // Verification reports a line that is no record.
    if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Returns the same; undefined also for a time so far ahead that the service has only started because an
 * operator confirmed that the record is wrong.
 */
export async function rightRecordTime(directory: string): Promise<number | undefined> {
  const newest = await newestRecordAt(directory);
  return newest !== undefined && newest - Date.now() > clockBehindMaxMs ? undefined : newest;
}
