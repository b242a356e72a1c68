import { z } from 'zod';

/** The socket that signetctl talks to. */
export const AdminConfig = z.strictObject({
  socketPath: z.string().min(1).default('/run/signetd/admin.sock').describe('The Unix socket of signetctl.'),
  access: z
    .enum(['user', 'group'])
    .default('user')
    .describe(
      'Who may connect, root apart. user: the user of the service alone (mode 0600). group: whoever is in its group, too (mode 0660).',
    ),
});
export type AdminConfig = z.output<typeof AdminConfig>;
