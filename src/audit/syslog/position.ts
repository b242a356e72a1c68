import { readFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { errorCode } from '../../telemetry/error-code.ts';

const Position = z.strictObject({
  /** Number of the file. */
  file: z.int().nonnegative(),
  /** Offset at which the next line begins. */
  offset: z.int().nonnegative(),
  /** Number of the last record before it. */
  record: z.int().nonnegative(),
});
/** Place in the log up to which the records are forwarded. */
export type Position = z.output<typeof Position>;

/** Stores the position beside the log. */
export class PositionFile {
  readonly #path: string;

  constructor(directory: string) {
    this.#path = join(directory, 'syslog-position.json');
  }

  /**
   * Returns the position; undefined if none was ever stored.
   * @throws {Error} if it is not readable
   */
  read(): Position | undefined {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
    return Position.parse(JSON.parse(text));
  }

  async write(position: Position): Promise<void> {
    const next = `${this.#path}.next`;
    const file = await open(next, 'w', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(position)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(next, this.#path);
  }
}
