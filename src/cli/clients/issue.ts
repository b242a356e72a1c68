import { z } from 'zod';
import { AdminRequest } from '../../admin/protocol.ts';
import { ClientView } from '../../admin/views.ts';
import { withOperatorToken } from '../ca/token-work.ts';
import { clientFields } from '../client.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { ask } from '../service.ts';
import { certified, checkTenant, clientAuthorityOf, commonNameOf, daysOf } from './authority.ts';
import { clientFileFields, removeClientFiles, writeClientFiles } from './client-files.ts';
import { newTlsKey, requestedKey, tlsKeyTypeOf } from './client-key.ts';

export const IssueOptions = z.object({
  name: z.string(),
  tenant: z.string(),
  roles: z.string(),
  directory: z.string(),
  csr: z.string().optional(),
  keyType: z.string(),
  days: z.string(),
});

/**
 * `client issue`: issues the certificate of a new client, for a new key or that of a request, and
 * registers it.
 */
export async function clientIssue(configPath: string, options: z.output<typeof IssueOptions>): Promise<Outcome> {
  const authority = clientAuthorityOf(configPath);
  const { name, tenant, directory } = options;
  const roles = options.roles.split(',').map((role) => role.trim());
  const days = daysOf(options.days, '--days');
  const subject = commonNameOf(name, '--name');
  const keyType = tlsKeyTypeOf(options.keyType, '--key-type');
  registrationOf({ name, tenant, roles, certificate: 'AA==' });
  checkTenant(configPath, tenant);
  const { result: clients } = await ask(configPath, { command: 'client list' }, z.array(ClientView));
  if (clients.some((client) => client.name === name)) {
    throw new CommandError(
      exitCodes.refused,
      `a client "${name}" is registered already: signetctl client renew issues its next certificate`,
    );
  }
  const key = options.csr === undefined ? newTlsKey(keyType) : requestedKey(options.csr);
  const { subjectPublicKeyInfo } = key;
  const der = await withOperatorToken(configPath, async (token) =>
    certified(token, authority, { name: subject, subjectPublicKeyInfo, end: 'client', hosts: [], days }),
  );
  const files = writeClientFiles({ directory, name }, der, key, authority.certificate);
  try {
    const request = registrationOf({ name, tenant, roles, certificate: Buffer.from(der).toString('base64') });
    const { result, notes } = await ask(configPath, request, ClientView);
    return {
      json: { ...result, files },
      text: `Certificate issued and client registered.\n${clientFields(result, [['valid until', String(result.notAfter)], ...clientFileFields(files)])}`,
      notes,
    };
  } catch (error) {
    removeClientFiles(files);
    throw error;
  }
}

/** Returns the request that registers a client. @throws {CommandError} for options that are wrong */
export function registrationOf(client: {
  readonly name: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  /** DER, base64. */
  readonly certificate: string;
  readonly replace?: boolean;
}): AdminRequest {
  const parsed = AdminRequest.safeParse({ command: 'client add', replace: false, ...client });
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => `--${String(path[0] ?? '')}: ${message}`);
  throw new CommandError(exitCodes.usage, faults.join('\n'));
}
