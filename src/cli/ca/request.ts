import { z } from 'zod';
import { authorityRequest } from '../../certificates/authority.ts';
import { loadAuthority, tokenSigner } from '../../certificates/configured-authority.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { writeNew } from './authority-files.ts';
import { authorityNameOf, configuredAuthority, distinguishedNameOf, keyTypeOf } from './options.ts';
import { withNewKeys, withOperatorToken } from './token-work.ts';

export const RequestOptions = z.object({
  name: z.string(),
  directory: z.string(),
  authority: z.string().optional(),
  country: z.string().optional(),
  organization: z.string().optional(),
  commonName: z.string().optional(),
  keyType: z.string(),
});
type RequestOptions = z.output<typeof RequestOptions>;

/**
 * `ca request`: creates a PKCS #10 request for an issuing CA under an external root, with a new
 * key, or with that of a configured CA for a renewal.
 */
export async function caRequest(configPath: string, options: RequestOptions): Promise<Outcome> {
  const entry = authorityNameOf(options.name, '--name');
  if (options.authority !== undefined) return renewalRequest(configPath, entry, options.authority, options.directory);
  const { country, organization, commonName } = options;
  if (country === undefined || organization === undefined || commonName === undefined) {
    throw new CommandError(
      exitCodes.usage,
      'a new CA needs --country, --organization and --common-name; name an existing one with --authority',
    );
  }
  const name = distinguishedNameOf(country, organization, commonName);
  const keyType = keyTypeOf(options.keyType, '--key-type');
  return withNewKeys(configPath, 'ca request', ['authority'], async (token, [keyId]) => {
    if (keyId === undefined) throw new Error('a key was asked for');
    const subjectPublicKeyInfo = await token.createKey(keyId, keyType);
    const request = await authorityRequest({ name, subjectPublicKeyInfo, ...tokenSigner(token, keyId, subjectPublicKeyInfo) });
    return outcome(writeNew(options.directory, `${entry}.csr`, 'CERTIFICATE REQUEST', request), keyId);
  });
}

async function renewalRequest(configPath: string, entry: string, authority: string, directory: string): Promise<Outcome> {
  const files = configuredAuthority(configPath, authority);
  return withOperatorToken(configPath, 'ca request', async (token) => {
    const { certificate, signatureAlgorithm, sign } = loadAuthority(token, files);
    const { subject: name, subjectPublicKeyInfo } = certificate;
    const request = await authorityRequest({ name, subjectPublicKeyInfo, signatureAlgorithm, sign });
    return outcome(writeNew(directory, `${entry}.csr`, 'CERTIFICATE REQUEST', request), files.keyId);
  });
}

function outcome(request: string, keyId: string): Outcome {
  return {
    json: { request, keyId },
    text: fields([
      ['request', request],
      ['keyId', keyId],
    ]),
    notes: ['once the root has issued the certificate, run signetctl ca import --key-id with this keyId'],
  };
}
