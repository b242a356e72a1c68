import { z } from 'zod';
import { loadAuthority } from '../../certificates/configured-authority.ts';
import { TimeStampAuthorityConfig } from '../../config/time-stamp-config.ts';
import { certifyTimeStampKey } from '../../timestamp/authority-certificate.ts';
import { writeNew } from '../ca/authority-files.ts';
import { authorityNameOf, configuredAuthority, distinguishedNameOf, keyTypeOf, yearsOf } from '../ca/options.ts';
import { withIssuerToken, withNewKeys } from '../ca/token-work.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { sectionOutcome, statusNotes, urlsOf } from './authority-section.ts';

export const InitOptions = z.object({
  by: z.string(),
  directory: z.string(),
  country: z.string(),
  organization: z.string(),
  commonName: z.string(),
  policy: z.string(),
  file: z.string(),
  keyType: z.string(),
  years: z.string(),
  publicUrl: z.string().optional(),
  issuerToken: z.string().optional(),
});

/** `tsa init`: creates a time-stamp authority under a configured CA, with its key on the token. */
export async function tsaInit(configPath: string, options: z.output<typeof InitOptions>): Promise<Outcome> {
  const by = configuredAuthority(configPath, authorityNameOf(options.by, '--by'));
  if (!TimeStampAuthorityConfig.shape.policy.safeParse(options.policy).success)
    throw new CommandError(exitCodes.usage, '--policy takes a dotted object identifier');
  const { policy, directory, file } = options;
  const settings = {
    name: distinguishedNameOf(options.country, options.organization, options.commonName),
    years: yearsOf(options.years, '--years'),
    urls: urlsOf(options.publicUrl, options.by, by),
  };
  const keyType = keyTypeOf(options.keyType, '--key-type');
  return withNewKeys(configPath, 'tsa init', ['timeStamps'], async (token, [keyId], store) => {
    if (keyId === undefined) throw new Error('a key was asked for');
    const subjectPublicKeyInfo = await token.createKey(keyId, keyType);
    const place = { configPath, command: 'tsa init' as const, token, store };
    const made = await withIssuerToken(place, options.issuerToken, async (issuer) =>
      certifyTimeStampKey(loadAuthority(issuer, by), { subjectPublicKeyInfo, ...settings }),
    );
    const certificate = writeNew(directory, file, 'CERTIFICATE', made);
    return sectionOutcome(
      { certificate, chain: [by.certificate, ...by.chain], keyId, policy },
      'Created the time-stamp authority; its key is on the token.',
      statusNotes(settings.urls),
    );
  });
}
