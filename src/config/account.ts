import { z } from 'zod';

const noAccount = 0xffffffff;

/** A user or group of the machine, by name or number. */
export const Account = z.union([
  z
    .int()
    .min(0)
    .max(noAccount - 1),
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,254}$/, 'not the name or number of an account'),
]);
export type Account = z.output<typeof Account>;
