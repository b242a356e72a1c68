import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { loadAuthority } from '../../certificates/configured-authority.ts';
import { lastCrl } from '../../certificates/crl/last-crl.ts';
import { loadConfig, type Config } from '../../config/config.ts';
import { parseKeyId } from '../../token/key-id.ts';
import { destroyUse } from '../../token/uses.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';
import { sectionText, writeNew } from './authority-files.ts';
import { authorityNameOf, configuredAuthority } from './options.ts';
import { withNewKeys } from './token-work.ts';

export const RetireOptions = z.object({
  authority: z.string(),
  directory: z.string(),
  file: z.string(),
  destroyKey: z.boolean().default(false),
});

/**
 * `ca retire`: issues the last CRL of an authority, which never expires, and may then destroy its
 * key. Refused while anything still needs the authority.
 */
export async function caRetire(configPath: string, options: z.output<typeof RetireOptions>): Promise<Outcome> {
  const name = authorityNameOf(options.authority, '--authority');
  const authority = configuredAuthority(configPath, name);
  const config = loadConfig(configPath);
  const reasons = stillNeeded(config, name);
  const path = join(resolve(options.directory), options.file);
  if (existsSync(path) && !authority.retired)
    throw new CommandError(exitCodes.refused, `${path} already exists and will not be overwritten`);
  return withNewKeys(configPath, 'ca retire', [], async (token, _, store) => {
    const unexpired = await store.run('countUnexpired', { authority: name, now: store.now() });
    if (unexpired > 0) reasons.push(`${unexpired} of its certificates are valid and not revoked: it could not revoke them any more`);
    if (reasons.length > 0)
      throw new CommandError(exitCodes.refused, [`"${name}" is still needed, and nothing was done`, ...reasons].join('\n'));
    // A second run after the configuration names it as retired only destroys the key.
    const crl = authority.retired ? undefined : await lastCrl(store, name, loadAuthority(token, authority), authority.crl);
    const file = crl === undefined ? undefined : writeNew(options.directory, options.file, 'X509 CRL', crl.der);
    if (options.destroyKey) {
      const keyId = parseKeyId(authority.keyId);
      await token.announce({ use: destroyUse(keyId) });
      await token.destroyKey(keyId);
    }
    const certificateAuthorities = { [name]: { retired: true } };
    const key = options.destroyKey ? 'destroyed' : 'kept on the token';
    return {
      json: { crl: file ?? null, number: crl?.number ?? null, isKeyDestroyed: options.destroyKey, certificateAuthorities },
      text: `Retired "${name}".\n${fields([
        ...(crl === undefined || file === undefined
          ? []
          : ([
              ['last CRL', file],
              ['number', String(crl.number)],
            ] as const)),
        ['key', key],
      ])}${sectionText(certificateAuthorities)}`,
      notes: ['the service serves its last CRL on, and its OCSP responder ends'],
    };
  });
}

/** What of the configuration needs the authority. */
function stillNeeded({ certificateAuthorities, tenants, timeStampAuthority }: Config, name: string): string[] {
  const own = certificateAuthorities[name];
  if (own === undefined) return [];
  const { publicKey } = new X509Certificate(readFileSync(own.certificate));
  const hasKey = (file: string): boolean => new X509Certificate(readFileSync(file)).publicKey.equals(publicKey);
  const isAbove = ({ chain }: { readonly chain: readonly string[] }): boolean => chain.some(hasKey);
  return [
    ...Object.entries(tenants)
      .filter(([, { certificateAuthority }]) => certificateAuthority === name)
      .map(([tenant]) => `tenants.${tenant}.certificateAuthority names it`),
    ...Object.entries(certificateAuthorities)
      .filter(([other, { retired }]) => other !== name && !retired)
      .filter(([, authority]) => isAbove(authority))
      .map(([other]) => `certificateAuthorities.${other}.chain still ends at it: use a chain to its successor`),
    ...(timeStampAuthority !== undefined && isAbove(timeStampAuthority)
      ? ['timeStampAuthority.chain still ends at it: signetctl tsa certify makes a certificate under its successor']
      : []),
  ];
}
