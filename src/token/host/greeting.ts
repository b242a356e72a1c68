import { z } from 'zod';

/** First line on the host's socket: the version of the protocol and the socket of each thread. */
export const Greeting = z.strictObject({ protocol: z.literal(3), threads: z.array(z.string()).min(1) });
export type Greeting = z.output<typeof Greeting>;

/** A later line: the host takes nothing new, and ends when it has answered what it has. */
export const Farewell = z.strictObject({ draining: z.string() });
export type Farewell = z.output<typeof Farewell>;

/** How a host ends when it cannot start. After `pinRefused` nobody starts another before an operator has looked. */
export const exitCodes = { startFailed: 70, pinRefused: 77 } as const;
