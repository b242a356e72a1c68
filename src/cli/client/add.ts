import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { AdminRequest } from '../../admin/protocol.ts';
import { ClientView } from '../../admin/views.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { ask } from '../service.ts';
import { clientFields } from './words.ts';

export const AddOptions = z.object({
  certificate: z.string(),
  name: z.string(),
  tenant: z.string(),
  roles: z.string(),
  replace: z.boolean().default(false),
});
export type AddOptions = z.output<typeof AddOptions>;

/** `client add`: registers the public key of a certificate. */
export async function clientAdd(configPath: string, { certificate, name, tenant, roles, replace }: AddOptions): Promise<Outcome> {
  const parsed = AdminRequest.safeParse({
    command: 'client add',
    certificate: readCertificate(certificate).raw.toString('base64'),
    name,
    tenant,
    roles: roles.split(',').map((role) => role.trim()),
    replace,
  });
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `--${String(path[0] ?? '')}: ${message}`);
    throw new CommandError(exitCodes.usage, faults.join('\n'));
  }
  const { result, notes } = await ask(configPath, parsed.data, ClientView);
  return { json: result, text: `The client is registered.\n${clientFields(result)}`, notes };
}

function readCertificate(file: string): X509Certificate {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new CommandError(exitCodes.usage, `--certificate: ${reasonOf(error)}`);
  }
  try {
    return new X509Certificate(bytes);
  } catch {
    throw new CommandError(exitCodes.usage, `--certificate: ${file}: this is no X.509 certificate in PEM or DER`);
  }
}
