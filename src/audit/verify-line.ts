import { isUtf8 } from 'node:buffer';
import { z } from 'zod';

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const Time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const Count = z.int().nonnegative();

const place = { n: z.int().positive(), time: Time, previous: Hash };

const Line = z.discriminatedUnion('kind', [
  z.looseObject({ ...place, kind: z.literal('request'), uses: z.array(z.string()).optional() }),
  z.looseObject({ ...place, kind: z.literal('administration'), uses: z.array(z.string()).optional() }),
  z.looseObject({ ...place, kind: z.literal('refused-clients') }),
  z.looseObject({ ...place, kind: z.literal('start') }),
  z.looseObject({ ...place, kind: z.literal('outage') }),
  z.strictObject({ ...place, kind: z.literal('close'), next: z.string() }),
  z.strictObject({
    ...place,
    kind: z.literal('open'),
    log: z.string(),
    file: Count,
    publicKey: z.base64(),
    gap: z.string().optional(),
  }),
  z.strictObject({
    ...place,
    kind: z.literal('checkpoint'),
    checkpoint: z.strictObject({ log: z.string(), records: Count, hash: Hash, time: Time }),
    /** Absent in logs of earlier versions. */
    kept: Count.optional(),
    signature: z.base64(),
    account: z.array(z.strictObject({ chain: Count, n: Count, hash: Hash })).optional(),
  }),
]);
export type Line = z.output<typeof Line>;

/** Reads a line of the log. A string answers what is wrong with it. */
export function parseLine(bytes: Buffer): Line | string {
  if (!isUtf8(bytes)) return 'it is not UTF-8';
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not JSON';
  }
  const parsed = Line.safeParse(value);
  if (!parsed.success) return `it is no record: ${parsed.error.issues[0]?.path.join('.') ?? ''} ${parsed.error.issues[0]?.message ?? ''}`;
  // One way to write a line: what JSON leaves open is a change like any other, and the last line has no successor that holds its hash.
  return JSON.stringify(value) === text ? parsed.data : 'it is not written as this service writes it';
}

/** The records that the service itself makes have one way to be written. */
export function isCanonicalBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text;
}
