import { z } from 'zod';
import { ProbeReport } from '../wire/probe-report.ts';

/**
 * First line on the host's socket: protocol version, socket of each thread, and the token's
 * capabilities.
 */
export const Greeting = z.strictObject({ protocol: z.literal(10), threads: z.array(z.string()).min(1), probe: ProbeReport });
export type Greeting = z.output<typeof Greeting>;

/** A later line: the host accepts no new requests, and ends when it has answered those it has. */
export const Farewell = z.strictObject({ draining: z.string() });
export type Farewell = z.output<typeof Farewell>;
