import { z } from 'zod';
import { Account } from './account.ts';

/** Socket for signetctl. */
export const AdminConfig = z.strictObject({
  socketPath: z.string().min(1).default('/run/signetd/admin.sock').describe('Unix socket for signetctl.'),
  access: z
    .enum(['user', 'group'])
    .default('user')
    .describe(
      'Who may connect besides root. user: only the user of the service (mode 0600). group: also the members of `group` (mode 0660).',
    ),
  group: Account.default('signetd-admin').describe(
    'Group admitted by `access: group`, by name or number. The user of the service must be a member. Use a group for this purpose only.',
  ),
});
export type AdminConfig = z.output<typeof AdminConfig>;
