import { accountFiles, accountHash, noLine, type AccountFile } from '../token/account-files.ts';
import { z } from 'zod';
import { readLines } from './read-lines.ts';
import type { BadPlace } from './verify.ts';
import { parseJsonLine } from './line.ts';

const Place = {
  n: z.int().positive(),
  time: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  previous: z.string().regex(/^[0-9a-f]{64}$/),
};

const Line = z.union([
  z.strictObject({ ...Place, uses: z.array(z.string()).min(1) }),
  z.strictObject({ ...Place, start: z.strictObject({ cutBytes: z.int().positive().optional(), gap: z.string().optional() }) }),
]);
type Line = z.output<typeof Line>;

export interface AccountEntry {
  readonly chain: number;
  readonly file: string;
  /** From 1 in its file. */
  readonly line: number;
  readonly hash: string;
  readonly said: Line;
}

/** A line of an account's chain is not as it was written. */
export class BadAccount extends Error {
  readonly place: BadPlace;

  constructor(place: BadPlace) {
    super(place.why);
    this.place = place;
  }
}

/** Returns the chains of an account by number. */
export function accountChains(directory: string): ReadonlyMap<number, AsyncGenerator<AccountEntry, undefined>> {
  return new Map([...accountFiles(directory)].map(([chain, files]) => [chain, entriesOf(chain, files)]));
}

/**
 * Yields the lines of one chain in order. Older files may be archived: nothing before the first
 * file present is checked. A line that the host is still writing is not read.
 * @throws {BadAccount} at the first line that is not as it was written
 */
async function* entriesOf(chain: number, files: readonly AccountFile[]): AsyncGenerator<AccountEntry, undefined> {
  let last: { readonly n: number; readonly hash: string } | undefined = files[0]?.number === 1 ? { n: 0, hash: noLine } : undefined;
  for (const file of files) {
    let line = 0;
    for await (const { bytes, isWhole } of readLines(file.path)) {
      line += 1;
      const bad = (why: string): BadAccount => new BadAccount({ file: file.name, line, why });
      if (!isWhole) {
        if (file === files.at(-1)) return undefined;
        throw bad('it is cut off');
      }
      const said = parseLine(bytes);
      if (typeof said === 'string') throw bad(said);
      if (last !== undefined && said.n !== last.n + 1) throw bad(`it is line ${said.n} of the chain; line ${last.n + 1} belongs here`);
      if (last !== undefined && said.previous !== last.hash) throw bad('its hash of the previous line is wrong');
      if ('start' in said && said.start.gap !== undefined) throw bad(`the token host found a gap here: ${said.start.gap}`);
      last = { n: said.n, hash: accountHash(bytes) };
      yield { chain, file: file.name, line, hash: last.hash, said };
    }
  }
  return undefined;
}

function parseLine(bytes: Buffer): Line | string {
  const json = parseJsonLine(bytes);
  if (typeof json === 'string') return json;
  const parsed = Line.safeParse(json.value);
  if (!parsed.success) return 'it is not a line of an account';
  return json.isAsWritten ? parsed.data : 'it does not have the form that the token host writes';
}
