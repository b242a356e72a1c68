import { z } from 'zod';
import { ClientView } from '../../admin/views.ts';
import { withOperatorToken } from '../ca/token-work.ts';
import { clientFields, registrationOf, rolesIn } from '../client.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { ask } from '../service.ts';
import { certified, clientAuthorityOf, commonNameOf, daysOf } from './authority.ts';
import { clientFileFields, removeClientFiles, writeClientFiles } from './client-files.ts';
import { newTlsKey, requestedKey, tlsKeyTypeOf } from './client-key.ts';
import { checkTenant, onlyTenant } from '../tenant.ts';

export const IssueOptions = z.object({
  name: z.string(),
  tenant: z.string().optional(),
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
  const { name, directory } = options;
  const tenant = options.tenant ?? onlyTenant(configPath);
  const roles = rolesIn(options.roles);
  const days = daysOf(options.days, '--days');
  const subject = commonNameOf(name, '--name');
  const keyType = tlsKeyTypeOf(options.keyType, '--key-type');
  const registration = registrationOf({ name, tenant, roles, certificate: 'AA==' });
  checkTenant(configPath, tenant, 'is configured');
  const { result: clients } = await ask(configPath, { command: 'client list' }, z.array(ClientView));
  if (clients.some((client) => client.name === name)) {
    throw new CommandError(
      exitCodes.refused,
      `a client "${name}" is registered already: signetctl client renew issues its next certificate`,
    );
  }
  const key = options.csr === undefined ? newTlsKey(keyType) : requestedKey(options.csr);
  const { subjectPublicKeyInfo } = key;
  const der = await withOperatorToken(
    configPath,
    'client issue',
    async (token) => certified(token, authority, { name: subject, subjectPublicKeyInfo, end: 'client', hosts: [], days }),
    { name, tenant, roles: registration.roles, replace: false },
  );
  const files = writeClientFiles({ directory, name }, der, key, [authority.certificate, ...authority.crossCertificates]);
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
