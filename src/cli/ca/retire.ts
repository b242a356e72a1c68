import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { loadAuthority } from '../../certificates/configured-authority.ts';
import { lastCrl, never } from '../../certificates/crl/last-crl.ts';
import { loadConfig, type Config } from '../../config/config.ts';
import type { StateStore } from '../../state/state-store.ts';
import { parseKeyId } from '../../token/key-id.ts';
import { destroyUse } from '../../token/uses.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { fields } from '../table.ts';
import { sectionText, writeNew } from './authority-files.ts';
import { authorityNameOf, configuredAuthority } from './options.ts';
import { withIssuerToken, withNewKeys } from './token-work.ts';

export const RetireOptions = z.object({
  authority: z.string(),
  directory: z.string(),
  file: z.string(),
  destroyKey: z.boolean().default(false),
  unrevocable: z.boolean().default(false),
  issuerToken: z.string().optional(),
});

/**
 * `ca retire`: issues the last CRL of an authority, which never expires, and may then destroy its
 * key. Refused while anything still needs the authority. With `unrevocable`, a CRL until the end of
 * the authority's certificate, for one whose key stays on a token that the service leaves: what it
 * issued stays valid, and cannot be revoked any more.
 */
export async function caRetire(configPath: string, options: z.output<typeof RetireOptions>): Promise<Outcome> {
  const name = authorityNameOf(options.authority, '--authority');
  const authority = configuredAuthority(configPath, name);
  const reasons = stillNeeded(loadConfig(configPath), name, options.unrevocable);
  const path = join(resolve(options.directory), options.file);
  return withNewKeys(configPath, 'ca retire', [], async (token, _, store) => {
    // A second run after the configuration names it as retired only destroys the key. A CA that is kept apart may have certified another
    // since: its CRL must not be older than that certificate.
    const isDone =
      authority.retired && (await hasLastCrl(store, name, options.unrevocable && options.destroyKey ? endOf(authority) : never));
    if (existsSync(path) && !isDone) throw new CommandError(exitCodes.refused, `${path} already exists and will not be overwritten`);
    const unexpired = await store.run('countUnexpired', { authority: name, now: store.now() });
    if (unexpired > 0 && !options.unrevocable)
      reasons.push(`${unexpired} of its certificates are valid and not revoked: it could not revoke them any more`);
    if (reasons.length > 0)
      throw new CommandError(exitCodes.refused, [`"${name}" is still needed, and nothing was done`, ...reasons].join('\n'));
    const place = { configPath, command: 'ca retire' as const, token, store };
    const crl = await withIssuerToken(place, options.issuerToken, async (own) => {
      const issuer = loadAuthority(own, authority);
      const nextUpdate = options.unrevocable ? issuer.certificate.notAfter : never;
      const made = isDone ? undefined : await lastCrl(store, name, issuer, { ...authority.crl, nextUpdate });
      if (options.destroyKey) {
        const keyId = parseKeyId(authority.keyId);
        await own.announce({ use: destroyUse(keyId) });
        await own.destroyKey(keyId);
      }
      return made;
    });
    const file = crl === undefined ? undefined : writeNew(options.directory, options.file, 'X509 CRL', crl.der);
    const certificateAuthorities = { [name]: { retired: true } };
    const left = options.unrevocable && unexpired > 0 ? { unrevocable: unexpired } : {};
    return {
      json: { crl: file ?? null, number: crl?.number ?? null, isKeyDestroyed: options.destroyKey, ...left, certificateAuthorities },
      text: `Retired "${name}".\n${fields([
        ...(crl === undefined || file === undefined
          ? []
          : ([
              ['last CRL', file],
              ['number', String(crl.number)],
              ['ends', crl.nextUpdate.getTime() === never.getTime() ? 'never' : crl.nextUpdate.toISOString()],
            ] as const)),
        ...(unexpired > 0 ? [['valid certificates', `${unexpired}, which cannot be revoked any more`] as const] : []),
        ['key', options.destroyKey ? 'destroyed' : 'kept on the token'],
      ])}${sectionText(certificateAuthorities)}`,
      notes: ['the service serves its last CRL on, and its OCSP responder ends'],
    };
  });
}

/** Whether a CRL of the authority is published that ends then or later. */
async function hasLastCrl(store: StateStore, name: string, ends: Date): Promise<boolean> {
  return ((await store.run('publishedCrl', name))?.next_update ?? 0) >= ends.getTime();
}

function endOf({ certificate }: { readonly certificate: string }): Date {
  return new X509Certificate(readFileSync(certificate)).validToDate;
}

/** What of the configuration needs the authority. */
function stillNeeded({ certificateAuthorities, tenants, timeStampAuthority }: Config, name: string, mayBeAbove: boolean): string[] {
  const own = certificateAuthorities[name];
  if (own === undefined) return [];
  const issues = Object.entries(tenants)
    .filter(([, { certificateAuthority }]) => certificateAuthority === name)
    .map(([tenant]) => `tenants.${tenant}.certificateAuthority names it`);
  if (mayBeAbove) return issues;
  const { publicKey } = new X509Certificate(readFileSync(own.certificate));
  const hasKey = (file: string): boolean => new X509Certificate(readFileSync(file)).publicKey.equals(publicKey);
  const isAbove = ({ chain }: { readonly chain: readonly string[] }): boolean => chain.some(hasKey);
  return [
    ...issues,
    ...Object.entries(certificateAuthorities)
      .filter(([other, { retired }]) => other !== name && !retired)
      .filter(([, authority]) => isAbove(authority))
      .map(([other]) => `certificateAuthorities.${other}.chain still ends at it: use a chain to its successor`),
    ...(timeStampAuthority !== undefined && isAbove(timeStampAuthority)
      ? ['timeStampAuthority.chain still ends at it: signetctl tsa certify makes a certificate under its successor']
      : []),
  ];
}
