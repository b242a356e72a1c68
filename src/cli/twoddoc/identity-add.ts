import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { tenantId } from '../../clients/caller.ts';
import { loadConfig } from '../../config/config.ts';
import { areTestIdentifiers } from '../../config/two-d-doc-config.ts';
import { establishMacKey } from '../../keys/mac-key.ts';
import { newIdentitySecret } from '../../keys/new-identity.ts';
import { step } from '../../state/step.ts';
import { zoneCurve } from '../../twoddoc/code/curves.ts';
import { identityRequest, identitySubject } from '../../twoddoc/identities/certificate-request.ts';
import { writeNew } from '../ca/authority-files.ts';
import { withNewKeys } from '../ca/token-work.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';
import { checkIdentity, registrationOf, typesOf } from './identity-options.ts';
import { silentLog } from '../../telemetry/silent-log.ts';

export const AddOptions = z.object({
  tenant: z.string(),
  ca: z.string(),
  certificateId: z.string(),
  curve: z.enum(['P-256', 'P-384', 'P-521']),
  organization: z.string(),
  siren: z.string().optional(),
  siret: z.string().optional(),
  country: z.string(),
  types: z.string().optional(),
  directory: z.string(),
});
type AddOptions = z.output<typeof AddOptions>;

/** The key of a new identity, and the request for its certificate. */
export interface AddedIdentity {
  /** Path of the request, PEM. */
  readonly request: string;
  /** CKA_ID. */
  readonly keyId: string;
  /** Shown only once. */
  readonly password: string;
}

/**
 * `twoddoc identity add`: creates the key of a digital identity on the token under a generated
 * password, and the request for its certificate. If any step fails, neither a key nor a request is
 * left.
 */
export async function identityAdd(configPath: string, options: AddOptions): Promise<Outcome> {
  const { tenant, ca, certificateId } = options;
  const types = typesOf(options.types);
  const added = await addIdentity(configPath, options);
  const certificate = added.request.replace(/\.csr$/, '.pem');
  const section = {
    tenants: { [tenant]: { twoDDoc: { identities: [{ ca, certificateId, certificate, ...(types === undefined ? {} : { types }) }] } } },
  };
  return {
    json: { ...added, ...section },
    text:
      fields([
        ['request', added.request],
        ['keyId', added.keyId],
        ['password', added.password],
      ]) + `\nOnce the CA has issued the certificate, add this to the configuration:\n\n${stringify(section)}`,
    notes: ['the password is shown only this once; whoever signs needs it', `write the certificate of the CA to ${certificate}`],
  };
}

/** @throws {CommandError} */
export async function addIdentity(configPath: string, options: Omit<AddOptions, 'types'>): Promise<AddedIdentity> {
  const { tenant, ca, certificateId, curve, directory } = options;
  checkIdentity(options);
  const algorithm = zoneCurve(curve)?.algorithm;
  if (algorithm === undefined) throw new RangeError(`no curve ${curve}`);
  const subject = subjectOf(options);
  const config = loadConfig(configPath);
  const settings = config.tenants[tenant]?.twoDDoc;
  if (settings === undefined) throw new CommandError(exitCodes.usage, `--tenant: the configuration has no tenant "${tenant}"`);
  if (areTestIdentifiers({ ca, certificateId }) && !settings.allowTestIdentifiers)
    throw new CommandError(
      exitCodes.refused,
      `${ca} ${certificateId} are identifiers of tests, and tenants.${tenant}.twoDDoc.allowTestIdentifiers is not true`,
    );
  const file = `${ca}-${certificateId}.csr`;
  const path = join(resolve(directory), file);
  if (existsSync(path))
    throw new CommandError(exitCodes.refused, `${path} already exists and will not be overwritten: choose another directory`);
  return withNewKeys(configPath, 'twoddoc identity add', ['identity'], async (token, [id], store) => {
    if (id === undefined) throw new Error('a key was asked for');
    const name = { tenant: tenantId(tenant), ca, certificateId };
    if ((await store.run('findIdentityKey', { tenant, ca, certificate_id: certificateId })) !== undefined)
      throw new CommandError(
        exitCodes.refused,
        `${tenant} already has a key for ${ca} ${certificateId}: signetctl twoddoc identity remove destroys it`,
      );
    const { label, callTimeoutSeconds } = config.token;
    await establishMacKey(store, token, { label, claimMs: 4000 * callTimeoutSeconds, log: silentLog });
    const publicKeyInfo = await token.createKey(id, curve);
    const secret = await newIdentitySecret(token, { ...name, id, type: curve, publicKeyInfo, createdAt: store.now() });
    const request = await identityRequest({ subject, subjectPublicKeyInfo: publicKeyInfo, curve }, async (info) => {
      const outcome = await token.signAsIdentity(id, algorithm, [info], { anyOf: [secret.proof] });
      const [value] = outcome.verified ? outcome.values : [];
      if (value === undefined) throw new Error('the token does not accept the password that was just made');
      return value;
    });
    const written = writeNew(directory, file, 'CERTIFICATE REQUEST', request);
    try {
      await store.commit([step('insertIdentityKey', secret.row)]);
    } catch (error) {
      rmSync(written, { force: true });
      throw error;
    }
    return { request: written, keyId: id, password: secret.password };
  });
}

function subjectOf(options: Omit<AddOptions, 'types'>): Uint8Array {
  const { country, organization, certificateId } = options;
  const registration = registrationOf(options);
  try {
    return identitySubject({ country, organization, registration, certificateId });
  } catch (error) {
    if (error instanceof RangeError) throw new CommandError(exitCodes.usage, error.message);
    throw error;
  }
}
