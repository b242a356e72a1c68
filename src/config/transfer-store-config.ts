import { resolve } from 'node:path';
import { z } from 'zod';
import { absoluteReference, SecretReference } from './secret-reference.ts';
import { isLoopback } from './tls-client-config.ts';

const gibibyte = 1024 * 1024 * 1024;
const Bytes = z.int().positive();
/** Size of the largest object that one request can store (Amazon S3, PutObject). */
const objectMaxBytes = 5 * gibibyte;

function isSafeEndpoint(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '') return false;
  const { protocol, hostname } = url;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

const S3Config = z.strictObject({
  endpoint: z
    .string()
    .refine(isSafeEndpoint, 'not an https URL without query and user; http is accepted for this machine alone')
    .describe('URL of the server, such as https://s3.example.net:9000.'),
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'not a bucket name of 3 to 63 small letters, digits, dots and hyphens')
    .describe('Name of the bucket, which must exist.'),
  prefix: z
    .string()
    .max(512)
    .regex(/^([A-Za-z0-9_-][A-Za-z0-9_.-]*\/)*$/, 'not empty, and not of the form name/ or name/name/')
    .default('')
    .describe('Beginning of the names of all objects. Services with different state stores need different buckets or prefixes.'),
  region: z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/)
    .default('us-east-1')
    .describe('Region in the signature of requests. Many servers accept any, or us-east-1.'),
  accessKeyId: SecretReference.describe('Location of the access key: file:<path> or credential:<name>.'),
  secretAccessKey: SecretReference.describe('Location of the secret of the access key: file:<path> or credential:<name>.'),
  pathStyle: z
    .boolean()
    .default(true)
    .describe(
      'Whether requests name the bucket in the path (https://host/bucket/...); otherwise in the host name (https://bucket.host/...).',
    ),
  certificateAuthority: z
    .string()
    .min(1)
    .optional()
    .describe('PEM file with the authorities trusted to issue the server certificate. Default: those that Node trusts.'),
  timeoutSeconds: z
    .number()
    .min(1)
    .max(300)
    .default(15)
    .describe('Time in seconds without progress after which a request to the server has failed.'),
});
export type S3Config = z.output<typeof S3Config>;

/** The file transfer store (contract §4). */
export const TransferStoreConfig = z
  .strictObject({
    directory: z
      .string()
      .min(1)
      .default('/var/lib/signetd/files')
      .describe(
        'Directory for the content. Instances that share a state store must share this directory too, or use s3. With s3, it is a directory of this machine for files in progress.',
      ),
    s3: S3Config.optional().describe('S3-compatible object store for the content. Default: the content is in the directory.'),
    fileMaxBytes: Bytes.default(2 * gibibyte).describe('Maximum size of a file in bytes; a larger one gets status 413.'),
    tenantMaxBytes: Bytes.default(20 * gibibyte).describe(
      "Maximum total size in bytes of a tenant's files, including files being uploaded; beyond it uploads get status 507, and operations 2/243.",
    ),
    tenantMaxFiles: z
      .int()
      .positive()
      .default(100_000)
      .describe("Maximum number of a tenant's files; beyond it uploads get status 507, and operations 2/243."),
    keepSeconds: z
      .int()
      .min(1)
      .max(366 * 86_400)
      .default(86_400)
      .describe('Seconds after which a file is removed.'),
    uploadTimeoutSeconds: z
      .number()
      .positive()
      .max(86_400)
      .default(3600)
      .describe('Maximum duration of an upload in seconds; a longer one gets status 408.'),
  })
  .refine(({ fileMaxBytes, tenantMaxBytes }) => tenantMaxBytes >= fileMaxBytes, {
    path: ['tenantMaxBytes'],
    message: 'must be at least fileMaxBytes, or files of that size would never fit',
  })
  .refine(({ s3, fileMaxBytes }) => s3 === undefined || fileMaxBytes <= objectMaxBytes, {
    path: ['fileMaxBytes'],
    message: 'must be at most 5368709120 (5 GiB) with s3',
  });
export type TransferStoreConfig = z.output<typeof TransferStoreConfig>;

/** Makes the paths absolute. */
export function absoluteTransferStore(transferStore: TransferStoreConfig, base: string): TransferStoreConfig {
  const { directory, s3 } = transferStore;
  const absolute = { ...transferStore, directory: resolve(base, directory) };
  if (s3 === undefined) return absolute;
  const { accessKeyId, secretAccessKey, certificateAuthority } = s3;
  return {
    ...absolute,
    s3: {
      ...s3,
      accessKeyId: absoluteReference(accessKeyId, base),
      secretAccessKey: absoluteReference(secretAccessKey, base),
      ...(certificateAuthority === undefined ? {} : { certificateAuthority: resolve(base, certificateAuthority) }),
    },
  };
}
