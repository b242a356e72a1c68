import { hash } from 'node:crypto';
import type { Entry, Place } from './record.ts';
import { isUtf8 } from 'node:buffer';
import { z } from 'zod';

/** The place before the first record. */
export const beginning: Place = { n: 0, hash: '0'.repeat(64) };

/** Returns the SHA-256 of the exact bytes of a line, without its line feed, in hexadecimal. */
export function lineHash(line: string | Uint8Array): string {
  return hash('sha256', line, 'hex');
}

/**
 * Returns the line of the record after `previous`, without its line feed. `body`: from `entryBody`.
 */
export function chainedLine(previous: Place, time: string, body: string): string {
  return `{"n":${previous.n + 1},"time":"${time}","previous":"${previous.hash}",${body}`;
}

/** Returns an entry's part of its line. */
export function entryBody(entry: Entry): string {
  return JSON.stringify(entry).slice(1);
}

const Hash = z.string().regex(/^[0-9a-f]{64}$/);
const Time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const Count = z.int().nonnegative();

const place = { n: z.int().positive(), time: Time, previous: Hash };

/** As in an opening record. */
export const Succession = z.strictObject({ former: z.base64(), time: Time, signature: z.base64() });

const Line = z.discriminatedUnion('kind', [
  z.looseObject({ ...place, kind: z.literal('request'), uses: z.array(z.string()).optional() }),
  z.looseObject({ ...place, kind: z.literal('administration'), uses: z.array(z.string()).optional() }),
  z.looseObject({ ...place, kind: z.literal('refused-clients') }),
  z.looseObject({ ...place, kind: z.literal('wrong-secrets') }),
  z.looseObject({ ...place, kind: z.literal('start') }),
  z.looseObject({ ...place, kind: z.literal('outage') }),
  z.strictObject({ ...place, kind: z.literal('close'), next: z.string() }),
  z.strictObject({ ...place, kind: z.literal('removal'), next: z.string(), records: Count, hash: Hash }),
  z.strictObject({
    ...place,
    kind: z.literal('open'),
    log: z.string(),
    file: Count,
    publicKey: z.base64(),
    /** Absent in logs of earlier versions. */
    succession: Succession.optional(),
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

/** Parses a line of the log. Returns a string that says what is wrong if it is malformed. */
export function parseLine(bytes: Buffer): Line | string {
  const json = parseJsonLine(bytes);
  if (typeof json === 'string') return json;
  const parsed = Line.safeParse(json.value);
  if (!parsed.success)
    return `it is not a record: ${parsed.error.issues[0]?.path.join('.') ?? ''} ${parsed.error.issues[0]?.message ?? ''}`;
  return json.isAsWritten ? parsed.data : 'it does not have the form that this service writes';
}

/**
 * Parses a line of a chain. Returns a string that says what is wrong if it is not JSON.
 * `isAsWritten`: whether it is written in the one way that chains use. No other is accepted: the
 * last line has no successor with its hash, so any freedom of JSON would allow changes.
 */
export function parseJsonLine(bytes: Buffer): { readonly value: unknown; readonly isAsWritten: boolean } | string {
  if (!isUtf8(bytes)) return 'it is not UTF-8';
  const text = bytes.toString('utf8');
  try {
    const value: unknown = JSON.parse(text);
    return { value, isAsWritten: JSON.stringify(value) === text };
  } catch {
    return 'it is not JSON';
  }
}

/** Whether base64 has its canonical form, the only one that the service writes. */
export function isCanonicalBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text;
}
