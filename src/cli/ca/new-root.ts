import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { loadAuthority } from '../../certificates/configured-authority.ts';
import { certifyAuthority, newRoot } from '../../certificates/new-authority.ts';
import { hasRootKey } from '../../config/authority-config.ts';
import { loadConfig } from '../../config/config.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { publishedUrls, sectionText, writeNew } from './authority-files.ts';
import { authorityNameOf, configuredAuthority, distinguishedNameOf, keyTypeOf, namedAuthority, yearsOf } from './options.ts';
import { withIssuerToken, withNewKeys } from './token-work.ts';

export const NewRootOptions = z.object({
  replaces: z.string(),
  ...namedAuthority,
  publicUrl: z.string().optional(),
  issuerToken: z.string().optional(),
});

/**
 * `ca new-root`: creates the successor of a root, with its own key and name, and certificates
 * between the two (RFC 4210 §4.4): the new key certified by the old root, for receivers who trust
 * only the old one, and the old key by the new root, for receivers who trust only the new one.
 */
export async function caNewRoot(configPath: string, options: z.output<typeof NewRootOptions>): Promise<Outcome> {
  const { replaces, directory, publicUrl } = options;
  const entry = authorityNameOf(options.name, '--name');
  const old = configuredAuthority(configPath, authorityNameOf(replaces, '--replaces'));
  if (!hasRootKey(old))
    throw new CommandError(
      exitCodes.refused,
      `"${replaces}" has not the key of a root: signetctl ca issue makes the successor of an issuing CA`,
    );
  if (old.retired) throw new CommandError(exitCodes.refused, `"${replaces}" is retired and certifies nothing`);
  if (loadConfig(configPath).certificateAuthorities[entry] !== undefined)
    throw new CommandError(exitCodes.refused, `the configuration has a certificate authority "${entry}" already: --name takes a new one`);
  const name = distinguishedNameOf(options.country, options.organization, options.commonName);
  const keyType = keyTypeOf(options.keyType, '--key-type');
  const years = yearsOf(options.years, '--years');
  const files = { own: `${entry}.pem`, byOld: `${entry}-by-${replaces}.pem`, oldByNew: `${replaces}-by-${entry}.pem` };
  checkAreNew(directory, Object.values(files));
  return withNewKeys(configPath, 'ca new-root', ['root'], async (token, [keyId], store) => {
    if (keyId === undefined) throw new Error('a key was asked for');
    const place = { configPath, command: 'ca new-root' as const, token, store };
    const { former, root, byOld } = await withIssuerToken(place, options.issuerToken, async (issuer) => {
      const present = loadAuthority(issuer, old);
      // CRLs and OCSP requests name an issuer by its name: two roots of one name would be mixed up.
      if (Buffer.compare(present.certificate.subject, name) === 0)
        throw new CommandError(
          exitCodes.refused,
          `--common-name: "${replaces}" has this name; the new root needs its own, such as one with a number`,
        );
      const made = await newRoot(token, { keyId, keyType, name, years, ...publishedUrls(publicUrl, entry) });
      const cross = await certifyAuthority(token, present, made, { years, ...publishedUrls(publicUrl, replaces) });
      return { former: present, root: made, byOld: cross };
    });
    const notAfterMax = former.certificate.notAfter;
    const oldByNew = await certifyAuthority(token, root, former, { years, notAfterMax, ...publishedUrls(publicUrl, entry) });
    const certificate = writeNew(directory, files.own, 'CERTIFICATE', root.certificate.der);
    const newByOldFile = writeNew(directory, files.byOld, 'CERTIFICATE', byOld);
    const oldByNewFile = writeNew(directory, files.oldByNew, 'CERTIFICATE', oldByNew);
    const certificateAuthorities = {
      [entry]: { certificate, crossCertificates: [newByOldFile, old.certificate], keyId, ...publishedUrls(publicUrl, entry) },
      [replaces]: { crossCertificates: [...old.crossCertificates, oldByNewFile, certificate] },
    };
    return {
      json: { certificate, newByOld: newByOldFile, oldByNew: oldByNewFile, certificateAuthorities },
      text: `Created the root "${entry}"; its key is on the token. Each of the two roots has certified the other.\n${sectionText(certificateAuthorities)}`,
      notes: [`"${replaces}" remains in the configuration; docs/rotating.md says what comes next`],
    };
  });
}

/** Checks it before a key is made. @throws {CommandError} */
function checkAreNew(directory: string, files: readonly string[]): void {
  const present = files.map((file) => join(resolve(directory), file)).filter((path) => existsSync(path));
  if (present.length === 0) return;
  throw new CommandError(
    exitCodes.refused,
    `${present.join(', ')}: already there and not overwritten; nothing was made. If an earlier run was interrupted, remove them and repeat`,
  );
}
