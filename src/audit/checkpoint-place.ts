import { errorCode } from '../telemetry/error-code.ts';
import { lastLines } from './last-lines.ts';
import { parseLine } from './line.ts';

/** More than lie between two checkpoints of a service that signs them. */
const linesMax = 10_000;

/**
 * Returns the time of the last checkpoint in the files of a log (milliseconds since the epoch;
 * undefined: it has none) and the number of records after it, for a log that is not open; undefined if
 * there is no checkpoint among its last lines.
 * @throws {Error} if the directory cannot be read
 */
export async function checkpointPlace(
  directory: string,
): Promise<{ readonly at: number | undefined; readonly recordsSince: number } | undefined> {
  const lines = await lastLines(directory, linesMax).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
  for (const [recordsSince, line] of lines.entries()) {
    const record = parseLine(Buffer.from(line));
    if (typeof record !== 'string' && record.kind === 'checkpoint') return { at: Date.parse(record.time), recordsSince };
  }
  const oldest = lines.at(-1);
  const record = oldest === undefined ? undefined : parseLine(Buffer.from(oldest));
  const isWhole = record === undefined || (typeof record !== 'string' && record.n === 1);
  return isWhole ? { at: undefined, recordsSince: lines.length } : undefined;
}
