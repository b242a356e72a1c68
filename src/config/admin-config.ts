import { z } from 'zod';
import { Account } from './account.ts';

/** The socket that signetctl talks to. */
export const AdminConfig = z.strictObject({
  socketPath: z.string().min(1).default('/run/signetd/admin.sock').describe('The Unix socket of signetctl.'),
  access: z
    .enum(['user', 'group'])
    .default('user')
    .describe(
      'Who may connect, root apart. user: the user of the service alone (mode 0600). group: whoever is in `group`, too (mode 0660).',
    ),
  group: Account.default('signetd-admin').describe(
    'The group that `access: group` lets in, by name or number; the user of the service has to be in it. It is for this alone.',
  ),
});
export type AdminConfig = z.output<typeof AdminConfig>;
