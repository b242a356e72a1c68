import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { z } from 'zod';
import { loadAuthority } from '../../certificates/configured-authority.ts';
import { certifyAuthority, newRoot } from '../../certificates/new-authority.ts';
import { loadConfig } from '../../config/config.ts';
import { certificatesIn } from '../../x509/pem.ts';
import { writeNew } from '../ca/authority-files.ts';
import { distinguishedNameOf, keyTypeOf, namedAuthority, yearsOf } from '../ca/options.ts';
import { withIssuerToken, withNewKeys } from '../ca/token-work.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { tlsAuthorityOf } from './authority.ts';

export const NewAuthorityOptions = z.object({
  ...namedAuthority,
  issuerToken: z.string().optional(),
});

/**
 * `client new-authority`: creates the successor of the CA of `clientAuthority`, with its own key and
 * name. Clients of both CAs are accepted meanwhile, and a certificate of the new CA by the old one
 * lets clients who trust only the old one accept the API's next certificate.
 */
export async function clientNewAuthority(configPath: string, options: z.output<typeof NewAuthorityOptions>): Promise<Outcome> {
  const { directory } = options;
  if (!/^[A-Za-z0-9][\w-]{0,63}$/.test(options.name))
    throw new CommandError(exitCodes.usage, '--name takes a name of letters, digits and hyphens, for the new files');
  const old = tlsAuthorityOf(configPath);
  const { listeners, certificateAuthorities } = loadConfig(configPath);
  const { clientCertificateAuthority: accepted } = listeners.api;
  const crlName = options.name.toLowerCase().replaceAll('_', '-');
  if (crlName === old.name || Object.hasOwn(certificateAuthorities, crlName))
    throw new CommandError(exitCodes.refused, `--name: another CA publishes its CRL as ${crlName}.crl; choose another name`);
  const name = distinguishedNameOf(options.country, options.organization, options.commonName);
  const keyType = keyTypeOf(options.keyType, '--key-type');
  const years = yearsOf(options.years, '--years');
  const files = { own: `${options.name}.pem`, byOld: `${options.name}-by-former.pem`, accepted: `${options.name}-accepted.pem` };
  const present = Object.values(files)
    .map((file) => join(resolve(directory), file))
    .filter((path) => existsSync(path));
  if (present.length > 0)
    throw new CommandError(
      exitCodes.refused,
      `${present.join(', ')}: already there and not overwritten; nothing was made. Choose another --name`,
    );
  const acceptedNow = certificatesIn(readFileSync(accepted, 'latin1'));
  return withNewKeys(configPath, 'client new-authority', ['root'], async (token, [keyId], store) => {
    if (keyId === undefined) throw new Error('a key was asked for');
    const place = { configPath, command: 'client new-authority' as const, token, store };
    const { former, root, byFormer } = await withIssuerToken(place, options.issuerToken, async (issuer) => {
      const known = loadAuthority(issuer, { certificate: old.certificate, chain: [], keyId: old.keyId });
      if (Buffer.compare(known.certificate.subject, name) === 0)
        throw new CommandError(
          exitCodes.refused,
          '--common-name: the present CA has this name; the new one needs its own, such as one with a number',
        );
      const made = await newRoot(token, { keyId, keyType, name, years });
      return { former: known, root: made, byFormer: await certifyAuthority(token, known, made, { years }) };
    });
    // A CA of somebody else's clients stays as it is.
    const acceptsOwn = acceptedNow.some((one) => Buffer.compare(one, former.certificate.der) === 0);
    const certificate = writeNew(directory, files.own, 'CERTIFICATE', root.certificate.der);
    const cross = writeNew(directory, files.byOld, 'CERTIFICATE', byFormer);
    const bundle = acceptsOwn ? writeNew(directory, files.accepted, 'CERTIFICATE', ...acceptedNow, root.certificate.der) : undefined;
    const section = {
      ...(bundle === undefined ? {} : { listeners: { api: { clientCertificateAuthority: bundle } } }),
      clientAuthority: {
        ...{ name: crlName, certificate, keyId, crossCertificates: [cross, old.certificate] },
        ...(old.urls.crl === undefined ? {} : { urls: { crl: old.urls.crl.map((url) => renamed(url, old.name, crlName)) } }),
      },
      // Until its clients have certificates of the new one, the CRL of the old one is published too.
      ...(listeners.public === undefined || !old.crl.enabled
        ? {}
        : {
            certificateAuthorities: {
              [old.name]: { certificate: old.certificate, keyId: old.keyId, crl: old.crl, ocsp: { enabled: false } },
            },
          }),
    };
    return {
      json: { certificate, accepted: bundle ?? null, ...section },
      text: `Created the CA; its key is on the token.\n\nSet this in the configuration:\n\n${stringify(section)}`,
      notes: ['then run signetctl client renew for each client, and signetctl server renew; docs/rotating.md says what comes next'],
    };
  });
}

function renamed(url: string, from: string, to: string): string {
  return url.endsWith(`/${from}.crl`) ? `${url.slice(0, -`${from}.crl`.length)}${to}.crl` : url;
}
