import { createHash, createPublicKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ClientView } from '../../admin/views.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { withOperatorToken } from '../ca/token-work.ts';
import { clientFields, registrationOf } from '../client.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { ask } from '../service.ts';
import { certified, clientAuthorityOf, commonNameOf, daysOf } from './authority.ts';
import { clientFileFields, newName, removeClientFiles, writeClientFiles } from './client-files.ts';
import { newTlsKey, requestedKey, tlsKeyTypeOf, type ClientKey } from './client-key.ts';

export const RenewOptions = z.object({
  client: z.string(),
  directory: z.string(),
  csr: z.string().optional(),
  certificate: z.string().optional(),
  keyType: z.string(),
  days: z.string(),
  revokeOld: z.boolean().default(false),
});
type RenewOptions = z.output<typeof RenewOptions>;

/**
 * `client renew`: issues the next certificate of a client, for a new key or its present one. The
 * old certificate stays valid until its end, unless its key is revoked.
 */
export async function clientRenew(configPath: string, options: RenewOptions): Promise<Outcome> {
  const authority = clientAuthorityOf(configPath);
  const days = daysOf(options.days, '--days');
  const { result: clients } = await ask(configPath, { command: 'client list' }, z.array(ClientView));
  const client = oneOf(clients, options.client);
  const key = keyOf(options);
  const isSameKey = fingerprintOf(key.subjectPublicKeyInfo) === client.publicKey;
  if (options.certificate !== undefined && !isSameKey) {
    throw new CommandError(exitCodes.refused, `--certificate: ${options.certificate} is not a certificate of the key that is registered`);
  }
  if (isSameKey && options.revokeOld) {
    throw new CommandError(exitCodes.usage, '--revoke-old revokes the old key, which the new certificate has too: renew with a new key');
  }
  const { subjectPublicKeyInfo } = key;
  const subject = commonNameOf(client.name, 'the name of the client');
  const { tenant, roles } = client;
  const registration = registrationOf({ name: client.name, tenant, roles, certificate: 'AA==', replace: isSameKey });
  const der = await withOperatorToken(
    configPath,
    'client renew',
    async (token) => certified(token, authority, { name: subject, subjectPublicKeyInfo, end: 'client', hosts: [], days }),
    { name: client.name, tenant, roles: registration.roles, replace: isSameKey },
  );
  const name = newName(options.directory, `${client.name}-${new Date().toISOString().slice(0, 10)}`);
  const files = writeClientFiles({ directory: options.directory, name }, der, key, [authority.certificate, ...authority.crossCertificates]);
  try {
    const certificate = Buffer.from(der).toString('base64');
    const request = registrationOf({ name: client.name, tenant, roles, certificate, replace: isSameKey });
    const { result, notes } = await ask(configPath, request, ClientView);
    if (options.revokeOld) await ask(configPath, { command: 'client revoke', client: client.publicKey }, ClientView);
    return {
      json: { ...result, files, old: { publicKey: client.publicKey, isRevoked: options.revokeOld } },
      text: `Certificate renewed.\n${clientFields(result, [['valid until', String(result.notAfter)], ...clientFileFields(files)])}`,
      notes: [...notes, ...(isSameKey || options.revokeOld ? [] : [stillValid(client)])],
    };
  } catch (error) {
    removeClientFiles(files);
    throw error;
  }
}

/** As registered: of the key as Node encodes it. */
function fingerprintOf(subjectPublicKeyInfo: Uint8Array): string {
  const key = createPublicKey({ key: Buffer.from(subjectPublicKeyInfo), format: 'der', type: 'spki' });
  return createHash('sha256')
    .update(key.export({ format: 'der', type: 'spki' }))
    .digest('hex');
}

function oneOf(clients: readonly ClientView[], wanted: string): ClientView {
  const found = clients.filter(({ name, publicKey }) => name === wanted || publicKey === wanted);
  const [client, another] = found;
  if (client === undefined) throw new CommandError(exitCodes.refused, `no client "${wanted}" is registered`);
  if (another === undefined) return client;
  const keys = found.map(registrationWords).join('\n');
  throw new CommandError(exitCodes.refused, `${found.length} keys are registered for "${wanted}"; name one of them:\n${keys}`);
}

function registrationWords({ publicKey, registered, notAfter }: ClientView): string {
  return `${publicKey} (registered ${registered}${notAfter === null ? '' : `, certificate valid until ${notAfter}`})`;
}

/** @throws {CommandError} */
function keyOf({ csr, certificate, keyType }: RenewOptions): ClientKey {
  if (csr !== undefined && certificate !== undefined) throw new CommandError(exitCodes.usage, 'give --csr or --certificate, not both');
  if (csr !== undefined) return requestedKey(csr);
  if (certificate === undefined) return newTlsKey(tlsKeyTypeOf(keyType, '--key-type'));
  try {
    const { publicKey } = new X509Certificate(readFileSync(certificate));
    return { subjectPublicKeyInfo: publicKey.export({ format: 'der', type: 'spki' }) };
  } catch (error) {
    throw new CommandError(exitCodes.usage, `--certificate: ${certificate}: ${reasonOf(error)}`);
  }
}

function stillValid({ notAfter, publicKey }: ClientView): string {
  const until = notAfter === null ? 'until it ends' : `until ${notAfter}`;
  return `the old certificate is valid ${until}; once the client uses the new one, run signetctl client revoke ${publicKey}`;
}
