import { z } from 'zod';
import { ProbeReport } from '../probe-report.ts';

/** First line on the host's socket: the version of the protocol, the socket of each thread, and what the token can do. */
export const Greeting = z.strictObject({ protocol: z.literal(1), threads: z.array(z.string()).min(1), probe: ProbeReport });
export type Greeting = z.output<typeof Greeting>;

/** How a host ends when it cannot start. `loginLost`: the token has forgotten the login, and only a new process logs in. */
export const exitCodes = { capabilityMissing: 69, startFailed: 70, loginLost: 75, pinRefused: 77, configurationWrong: 78 } as const;

/** Ends after which another start would end alike: nobody starts a host again before an operator has looked. */
export const finalExitCodes: readonly number[] = [exitCodes.capabilityMissing, exitCodes.pinRefused, exitCodes.configurationWrong];
