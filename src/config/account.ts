import { z } from 'zod';

const noAccount = 0xffffffff;

/** A user or a group of the machine. */
export const Account = z.union([
  z
    .int()
    .min(0)
    .max(noAccount - 1),
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,254}$/, 'the name or the number of an account'),
]);
export type Account = z.output<typeof Account>;
