import { z } from 'zod';
import { ProbeReport } from '../wire/probe-report.ts';

/** First line on the host's socket: the version of the protocol, the socket of each thread, and what the token can do. */
export const Greeting = z.strictObject({ protocol: z.literal(7), threads: z.array(z.string()).min(1), probe: ProbeReport });
export type Greeting = z.output<typeof Greeting>;

/** A later line: the host takes nothing new, and ends when it has answered what it has. */
export const Farewell = z.strictObject({ draining: z.string() });
export type Farewell = z.output<typeof Farewell>;

/** How a host ends when it cannot start. After `pinRefused` nobody starts another before an operator has looked. */
export const exitCodes = { capabilityMissing: 69, startFailed: 70, pinRefused: 77, configurationWrong: 78 } as const;

/** Ends that say what is wrong with token or configuration: another start would end alike. */
export const refusalExitCodes: readonly number[] = [exitCodes.capabilityMissing, exitCodes.pinRefused, exitCodes.configurationWrong];
