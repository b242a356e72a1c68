import { z } from 'zod';
import { linesAfter, tailOf } from '../../audit/tail.ts';
import { loadConfig } from '../../config/config.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { printable } from '../printable.ts';

export const TailOptions = z.object({
  directory: z.string().optional(),
  lines: z.string(),
  follow: z.boolean().optional(),
});
export type TailOptions = z.output<typeof TailOptions>;

/** Members of all kinds of records from which a line for people is made. */
const Record = z.object({
  n: z.number(),
  time: z.string(),
  kind: z.string(),
  client: z.string().optional(),
  tenant: z.string().optional(),
  operation: z.string().optional(),
  uid: z.number().optional(),
  via: z.string().optional(),
  command: z.string().optional(),
  changed: z.array(z.string()).optional(),
  fault: z.string().optional(),
  major: z.number().optional(),
  minor: z.number().optional(),
  status: z.number().optional(),
  key: z.string().optional(),
  reason: z.string().optional(),
  count: z.number().optional(),
  refused: z.number().optional(),
  repeated: z.boolean().optional(),
  replayed: z.string().optional(),
  gap: z.string().optional(),
});

/** `audit tail`: the last records, one line each. It verifies nothing. */
export async function auditTail(configPath: string, { directory: given, lines, follow }: TailOptions): Promise<Outcome> {
  if (!/^[1-9]\d{0,5}$/.test(lines)) throw new CommandError(exitCodes.usage, '--lines takes a number from 1 to 999999');
  const directory = given ?? loadConfig(configPath).audit.directory;
  const tail = await tailOf(directory, Number(lines)).catch((error: unknown) => {
    throw new CommandError(exitCodes.refused, reasonOf(error));
  });
  const text = (tail?.lines ?? []).map(lineForPeople).join('');
  if (follow !== true || tail === undefined) return { json: (tail?.lines ?? []).map(parsed), text };
  process.stdout.write(text);
  for await (const line of linesAfter(directory, tail)) process.stdout.write(lineForPeople(line));
  return { json: [], text: '' };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return line;
  }
}

function lineForPeople(line: string): string {
  const { data } = Record.safeParse(parsed(line));
  if (data === undefined) return `not a record: ${printable(line)}\n`;
  const { n, time, kind, client, tenant, operation, key } = data;
  const outcome =
    data.status === undefined ? (data.major === undefined ? undefined : `${data.major}/${data.minor ?? ''}`) : `HTTP ${data.status}`;
  const words = [
    kind === 'request' ? undefined : kind,
    data.uid === undefined ? undefined : `user ${data.uid}`,
    data.via === undefined ? undefined : `via ${data.via}`,
    data.command,
    client === undefined ? undefined : tenant === undefined ? client : `${client}@${tenant}`,
    operation,
    outcome,
    key === undefined ? undefined : `key ${key}`,
    data.reason,
    data.changed?.join(', '),
    data.fault === undefined ? undefined : `not done: ${data.fault}`,
    data.count === undefined ? undefined : `${data.count} times`,
    data.refused === undefined ? undefined : `${data.refused} requests refused`,
    data.repeated === true ? '(repeated)' : undefined,
    data.replayed === undefined ? undefined : `(recorded later: ${data.replayed})`,
    data.gap,
  ];
  return `${printable([time, String(n), ...words.filter((word) => word !== undefined)].join('  '))}\n`;
}
