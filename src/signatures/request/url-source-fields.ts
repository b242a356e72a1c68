import { z } from 'zod';
import { isHttpUrl } from '../../outgoing/url-rules.ts';
import { maxListEntries, Text } from '../../fields/values.ts';
import { UrlSource } from './enumerations.ts';

const HttpUrl = Text.refine(isHttpUrl, 'not a URL with http or https, or one with a user name or a password in it');

/** Where addresses come from: members that time-stamps, CRLs and OCSP share (interface, URL_SOURCE). */
export const urlSourceFields = {
  URLSource: UrlSource.optional(),
  clientURL: z
    .array(HttpUrl)
    .max(maxListEntries)
    .optional()
    .describe('addresses, tried in their order; at least one with CLIENT, none else'),
};

/** Where CRLs, or OCSP answers, come from. */
export const UrlSourceFields = z.strictObject({
  ...urlSourceFields,
  URLSource: UrlSource.optional().describe(
    'CERTIFICATE (the default): what the certificate names; SERVER: what the configuration names; CLIENT: clientURL',
  ),
});
