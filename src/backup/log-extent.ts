import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { auditFiles } from '../audit/file-names.ts';
import { headOf, lastLineWith } from '../audit/line-offset.ts';
import { lineHash } from '../audit/line.ts';
import { readLines } from '../audit/read-lines.ts';
import type { FilePlace, Place } from '../audit/record.ts';
import type { SnapshotFacts } from '../state/snapshot/snapshot-facts.ts';
import type { AccountHead } from '../token/account-files.ts';
import { errorCode } from '../telemetry/error-code.ts';

/** A file and how much of it belongs to a backup. */
export interface FileExtent {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

export interface LogExtent {
  readonly files: readonly FileExtent[];
  /** The last record; undefined if there is none. */
  readonly last: Place | undefined;
  /** Ends of the account of uses at the point; undefined if it names none. */
  readonly account: readonly AccountHead[] | undefined;
  /** Number of records after the end, which the state does not know. */
  readonly later: number;
}

/** The service wrote a checkpoint since the point of the backup. */
export class PointPassed extends Error {
  constructor() {
    super('the service wrote a checkpoint before the state could be fixed; repeat the backup when the machine is less busy');
  }
}

const Line = z.looseObject({
  n: z.int(),
  kind: z.string(),
  request: z.string().optional(),
  effects: z.array(z.unknown()).optional(),
  kept: z.int().optional(),
  account: z.array(z.object({ chain: z.int(), n: z.int(), hash: z.string() })).optional(),
});

interface Extent {
  bytes: number;
  last: Place | undefined;
}

/**
 * Finds the part of an audit log that belongs to a state of the store: up to the last record before
 * the first one that lists a commit which the state does not have. Together they are what a crash
 * at that moment would have left, so that a start finds nothing missing. The log may be written
 * meanwhile.
 * @param point the checkpoint at which the running service prepared the backup
 * @throws {PointPassed}
 * @throws {Error} if the log lacks records that the state knows
 */
export async function logExtent(directory: string, { head, commits }: SnapshotFacts, point: FilePlace | undefined): Promise<LogExtent> {
  const found = await auditFiles(directory).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
  const present = await Promise.all(found.map(async (file) => ({ ...file, bytes: (await stat(file.path)).size })));
  const begin = point !== undefined && point.n < (head?.n ?? Infinity) ? point : head;
  const files: FileExtent[] = [];
  let last: Place | undefined;
  let account: readonly AccountHead[] | undefined;
  let later = 0;
  for (const { name, path, number, bytes } of present) {
    if (number < (begin?.file ?? 0)) {
      files.push({ name, path, bytes });
      continue;
    }
    const from = number === begin?.file ? await lastLineWith(path, ({ n }) => n <= begin.n) : 0;
    const extent: Extent = { bytes: from, last: undefined };
    for await (const { bytes: line, isWhole, end } of readLines(path, from)) {
      if (!isWhole || end > bytes) break;
      const record = readLine(line);
      if (later > 0 || lacks(record, head, commits)) {
        later += 1;
        continue;
      }
      if (record?.kind === 'checkpoint' && point !== undefined) {
        if (record.n > point.n) throw new PointPassed();
        account = record.account;
      }
      extent.bytes = end;
      extent.last = { n: headOf(line)?.n ?? ((extent.last ?? last)?.n ?? 0) + 1, hash: lineHash(line) };
    }
    last = extent.last ?? last;
    if (extent.bytes > 0) files.push({ name, path, bytes: extent.bytes });
  }
  if (head !== undefined && (last?.n ?? 0) < head.n)
    throw new Error(
      `${directory}: the audit log ends at record ${last?.n ?? 0}, but the state store knows it up to record ${head.n}; run signetctl audit verify`,
    );
  return { files, last, account, later };
}

/** Whether the state lacks something that the record reports. */
function lacks(record: z.output<typeof Line> | undefined, head: SnapshotFacts['head'], commits: ReadonlyMap<string, number>): boolean {
  if (record === undefined || record.n <= (head?.n ?? 0)) return false;
  if (record.kind === 'checkpoint') return (record.kept ?? 0) > (head?.n ?? 0);
  const { request, effects = [] } = record;
  return request !== undefined && effects.length > (commits.get(request) ?? 0);
}

/** Undefined if the line is damaged: verification reports that. */
function readLine(line: Buffer): z.output<typeof Line> | undefined {
  try {
    return Line.safeParse(JSON.parse(line.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
