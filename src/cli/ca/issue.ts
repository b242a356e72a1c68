import { z } from 'zod';
import { loadAuthority } from '../../certificates/configured-authority.ts';
import { newIssuingAuthority } from '../../certificates/new-authority.ts';
import type { Outcome } from '../outcome.ts';
import { configurationOutcome, publishedUrls, writeNew } from './authority-files.ts';
import { authorityNameOf, configuredAuthority, distinguishedNameOf, keyTypeOf, namedAuthority, yearsOf } from './options.ts';
import { chainBelow } from './overlap-chain.ts';
import { withIssuerToken, withNewKeys } from './token-work.ts';

export const IssueOptions = z.object({
  by: z.string(),
  ...namedAuthority,
  publicUrl: z.string().optional(),
  issuerToken: z.string().optional(),
});

/**
 * `ca issue`: creates another issuing CA with its own key under a configured root, such as the
 * successor of one that expires.
 */
export async function caIssue(configPath: string, options: z.output<typeof IssueOptions>): Promise<Outcome> {
  const entry = authorityNameOf(options.name, '--name');
  const by = configuredAuthority(configPath, options.by);
  const settings = {
    name: distinguishedNameOf(options.country, options.organization, options.commonName),
    keyType: keyTypeOf(options.keyType, '--key-type'),
    years: yearsOf(options.years, '--years'),
    ...publishedUrls(options.publicUrl, options.by),
  };
  return withNewKeys(configPath, 'ca issue', ['authority'], async (token, [keyId], store) => {
    if (keyId === undefined) throw new Error('a key was asked for');
    const place = { configPath, command: 'ca issue' as const, token, store };
    const issuing = await withIssuerToken(place, options.issuerToken, async (issuer) =>
      newIssuingAuthority(token, loadAuthority(issuer, by), { keyId, ...settings }),
    );
    const certificate = writeNew(options.directory, `${entry}.pem`, 'CERTIFICATE', issuing.certificate.der);
    return configurationOutcome(
      { [entry]: { certificate, chain: chainBelow(by), keyId, ...publishedUrls(options.publicUrl, entry) } },
      'Created the issuing CA; its key is on the token.',
    );
  });
}
