import { z } from 'zod';
import { newIssuingAuthority, newRoot } from '../../certificates/new-authority.ts';
import type { Outcome } from '../outcome.ts';
import { configurationOutcome, publishedUrls, writeNew } from './authority-files.ts';
import { authorityNameOf, distinguishedNameOf, keyTypeOf, yearsOf } from './options.ts';
import { withNewKeys } from './token-work.ts';

export const InitOptions = z.object({
  directory: z.string(),
  country: z.string(),
  organization: z.string(),
  rootName: z.string(),
  issuingName: z.string(),
  root: z.string(),
  issuing: z.string(),
  rootKeyType: z.string(),
  issuingKeyType: z.string(),
  rootYears: z.string(),
  issuingYears: z.string(),
  publicUrl: z.string().optional(),
});

/** `ca init`: creates a root and an issuing CA, with their keys on the token. */
export async function caInit(configPath: string, options: z.output<typeof InitOptions>): Promise<Outcome> {
  const rootEntry = authorityNameOf(options.root, '--root');
  const issuingEntry = authorityNameOf(options.issuing, '--issuing');
  const rootSettings = {
    name: distinguishedNameOf(options.country, options.organization, options.rootName),
    keyType: keyTypeOf(options.rootKeyType, '--root-key-type'),
    years: yearsOf(options.rootYears, '--root-years'),
    ...publishedUrls(options.publicUrl, rootEntry),
  };
  const issuingSettings = {
    name: distinguishedNameOf(options.country, options.organization, options.issuingName),
    keyType: keyTypeOf(options.issuingKeyType, '--issuing-key-type'),
    years: yearsOf(options.issuingYears, '--issuing-years'),
    ...publishedUrls(options.publicUrl, rootEntry),
  };
  return withNewKeys(configPath, 'ca init', ['root', 'authority'], async (token, [rootId, issuingId]) => {
    if (rootId === undefined || issuingId === undefined) throw new Error('two keys were asked for');
    const root = await newRoot(token, { keyId: rootId, ...rootSettings });
    const issuing = await newIssuingAuthority(token, root, { keyId: issuingId, ...issuingSettings });
    const rootFile = writeNew(options.directory, `${rootEntry}.pem`, 'CERTIFICATE', root.certificate.der);
    const issuingFile = writeNew(options.directory, `${issuingEntry}.pem`, 'CERTIFICATE', issuing.certificate.der);
    return configurationOutcome(
      {
        [issuingEntry]: {
          certificate: issuingFile,
          chain: [rootFile],
          keyId: issuingId,
          ...publishedUrls(options.publicUrl, issuingEntry),
        },
        [rootEntry]: { certificate: rootFile, chain: [], keyId: rootId },
      },
      'Created the root and the issuing CA; their keys are on the token.',
    );
  });
}
