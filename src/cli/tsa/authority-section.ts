import { stringify } from 'yaml';
import type { z } from 'zod';
import type { PublicationUrls } from '../../config/profile.ts';
import type { TimeStampAuthorityConfig } from '../../config/time-stamp-config.ts';
import { publishedUrls } from '../ca/authority-files.ts';
import type { configuredAuthority } from '../ca/options.ts';
import type { Outcome } from '../outcome.ts';

/** Outcome with the section to add to the configuration. */
export function sectionOutcome(
  timeStampAuthority: z.input<typeof TimeStampAuthorityConfig>,
  done: string,
  notes: readonly string[],
): Outcome {
  return {
    json: { timeStampAuthority },
    text: `${done}\nAdd this to the configuration:\n\n${stringify({ timeStampAuthority })}`,
    notes,
  };
}

/** Notes on a certificate whose revocation status cannot be checked. */
export function statusNotes({ crl = [], ocsp = [] }: PublicationUrls): string[] {
  return crl.length + ocsp.length > 0 ? [] : ['the certificate names no CRL and no OCSP responder: see --public-url'];
}

/** Returns the URLs at which the CA publishes. */
export function urlsOf(publicUrl: string | undefined, name: string, by: ReturnType<typeof configuredAuthority>): PublicationUrls {
  return publishedUrls(publicUrl, name).urls ?? by.urls;
}
