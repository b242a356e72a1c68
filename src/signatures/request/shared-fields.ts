import { z } from 'zod';
import { isHttpUrl } from '../../outgoing/url-rules.ts';
import { having, where } from '../../fields/documented.ts';
import { maxListEntries, Text } from '../../fields/values.ts';

/** Enumerations that several members of `parameters` share (interface, Shared enumerations). */
export const Digest = z
  .enum(['SHA_1', 'SHA_256', 'SHA_384', 'SHA_512'])
  .meta({ id: 'DigestAlgorithm', description: 'a hash; SHA_1 only where the configuration of the tenant allows it' });

export const Canonicalisation = z
  .enum([
    'XML_EXC_C_14_N',
    'XML_EXC_C_14_N_WITH_COMMENTS',
    'REC_XML_C_14_N_20010315',
    'REC_XML_C_14_N_20010315_WITH_COMMENTS',
    'XML_C_14_N_11',
    'XML_C_14_N_11_WITH_COMMENTS',
  ])
  .meta({ id: 'CanonicalizationAlgorithm', description: 'a canonicalisation of XML' });
export const XadesVersion = z
  .enum(['VERSION_1_1_1', 'VERSION_1_2_2', 'VERSION_1_3_2', 'VERSION_1_4_1'])
  .meta({ id: 'XAdESVersion', description: 'version of XAdES' });
export const UrlSource = z
  .enum(['CERTIFICATE', 'CLIENT', 'SERVER'])
  .meta({ id: 'AddressSource', description: 'where addresses come from' });
export const Position = z
  .enum(['FIRST_CHILD', 'LAST_CHILD', 'NEXT_SIBLING'])
  .meta({ id: 'SignaturePosition', description: 'position relative to an element' });
export const RsaVersion = z
  .enum(['PKCS_1_1_5', 'PKCS_1_2_1'])
  .meta({ id: 'RSASignatureScheme', description: 'RSASSA-PKCS1-v1_5 or RSASSA-PSS' });

export const hashOfDigest = { SHA_1: 'sha1', SHA_256: 'sha256', SHA_384: 'sha384', SHA_512: 'sha512' } as const;

const HttpUrl = Text.refine(isHttpUrl, 'not an http or https URL without user name and password').meta({ format: 'uri' });

/**
 * Members for the source of addresses, shared by time-stamps, CRLs and OCSP (interface,
 * URL_SOURCE).
 */
export const urlSourceFields = {
  URLSource: UrlSource.optional(),
  clientURL: z.array(HttpUrl).max(maxListEntries).optional().describe('URLs, tried in order; at least one with CLIENT, none otherwise'),
};

/** Rule of `clientURL`, which belongs to CLIENT alone. */
export const clientUrlRule = where(having({ URLSource: { const: 'CLIENT' } }), having({ clientURL: { minItems: 1 } }), {
  properties: { clientURL: { maxItems: 0 } },
  additionalProperties: true,
});

/** Source of CRLs or of OCSP responses. */
export const UrlSourceFields = z
  .strictObject({
    ...urlSourceFields,
    URLSource: UrlSource.optional().describe(
      'CERTIFICATE (default): the addresses in the certificate; SERVER: those in the configuration; CLIENT: clientURL',
    ),
  })
  .meta({ id: 'RevocationDataSource', description: 'addresses of revocation data', ...clientUrlRule });
