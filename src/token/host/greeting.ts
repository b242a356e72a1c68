import { z } from 'zod';
import { ProbeReport } from '../wire/probe-report.ts';

/**
 * First line on the host's socket: protocol version, socket of each thread, and the token's
 * capabilities.
 */
export const Greeting = z.strictObject({ protocol: z.literal(7), threads: z.array(z.string()).min(1), probe: ProbeReport });
export type Greeting = z.output<typeof Greeting>;

/** A later line: the host accepts no new requests, and ends when it has answered those it has. */
export const Farewell = z.strictObject({ draining: z.string() });
export type Farewell = z.output<typeof Farewell>;

/**
 * Exit codes of a host that cannot start. After `pinRefused` no other is started until an operator
 * intervenes.
 */
export const exitCodes = { capabilityMissing: 69, startFailed: 70, pinRefused: 77, configurationWrong: 78 } as const;

/**
 * Exit codes that report a fault of the token or the configuration: another start would fail the
 * same way.
 */
export const refusalExitCodes: readonly number[] = [exitCodes.capabilityMissing, exitCodes.pinRefused, exitCodes.configurationWrong];
