import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { compiled } from './compile.ts';

const run = promisify(execFile);

const PlainLoad = z.object({ seconds: z.number(), signed: z.int(), unsigned: z.int(), otherStatus: z.int(), broken: z.int() });
/**
 * Counts of answers: successful ones of more than 100 bytes (signed), shorter ones, other statuses,
 * broken connections.
 */
export type PlainLoad = z.output<typeof PlainLoad>;

/** An HTTP request as bytes. `vary`: offset of eight octets that differ between requests. */
export interface PlainRequest {
  readonly bytes: Buffer;
  readonly vary?: number;
}

/**
 * Sends a request over plain HTTP as fast as answers arrive. The directory is for scratch files.
 */
export async function plainLoad(
  directory: string,
  url: URL,
  { bytes, vary }: PlainRequest,
  options: { connections: number; seconds: number; warmup: number },
): Promise<PlainLoad> {
  const file = join(directory, `request-${randomBytes(4).toString('hex')}`);
  writeFileSync(file, bytes);
  const flags = Object.entries({ port: url.port, request: file, ...options, ...(vary === undefined ? {} : { vary }) });
  const { stdout } = await run(
    compiled('plain-load'),
    flags.flatMap(([name, value]) => [`--${name}`, String(value)]),
  );
  return PlainLoad.parse(JSON.parse(stdout));
}

export const rateOf = ({ signed, seconds }: PlainLoad): number => signed / seconds;
