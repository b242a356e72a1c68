import { resolve } from 'node:path';
import { z } from 'zod';
import { Account } from './listeners-config.ts';
import { SecretReference } from './secret-reference.ts';

const FilePath = z.string().min(1);

/** Section for the token, which the token host reads too. */
export const TokenConfig = z.strictObject({
  profile: z
    .string()
    .regex(/^([a-z0-9-]+|.*\/[^/]+\.yaml)$/, 'not the name of a profile or a path to a .yaml file')
    .default('softhsm2')
    .describe('Profile of the HSM: the name of a file in native-config/, or the path of a file of the same form.'),
  modulePath: FilePath.optional().describe('PKCS#11 module. Default: the first path in the profile that exists.'),
  libraryParameters: z
    .string()
    .min(1)
    .optional()
    .describe('Text that C_Initialize passes to the module, if the module needs one. Default: that of the profile.'),
  isolateModule: z.boolean().default(false).describe('Binds the module to its own libcrypto rather than the OpenSSL that Node exports.'),
  label: z.string().min(1).max(32).describe('Label of the token, at most 32 characters.'),
  pin: SecretReference.describe('Location of the PIN of the token: file:<path> or credential:<name>.'),
  threads: z.int().min(1).max(64).default(2).describe('Number of threads of the token host, each with its own session.'),
  callTimeoutSeconds: z
    .number()
    .positive()
    .max(600)
    .default(30)
    .describe('Maximum duration of one call to the module in seconds; then the token host is replaced.'),
  queueMaxRequests: z
    .int()
    .positive()
    .default(4096)
    .describe('Maximum number of requests waiting for the token before one of a client; further ones of that client get status 503.'),
  outageSeconds: z
    .number()
    .positive()
    .max(600)
    .default(10)
    .describe('Seconds that requests wait while the token host is unavailable; after that they are refused immediately.'),
  recycleAfterRequests: z
    .int()
    .positive()
    .default(5_000_000)
    .describe("Number of requests after which the token host is replaced, since vendors' modules leak memory."),
  recycleAfterSeconds: z
    .int()
    .positive()
    .default(24 * 3600)
    .describe('Seconds after which the token host is replaced.'),
  host: z
    .enum(['spawn', 'external'])
    .default('external')
    .describe(
      'spawn: the daemon starts and restarts the token host. external: systemd or another supervisor does, and the daemon connects.',
    ),
  socketPath: FilePath.default('/run/signetd-token/token.sock').describe('Unix socket of the token host.'),
  clientUser: Account.optional().describe(
    "User of the daemon, by name or number, if different from the token host's. The host serves only this user and root. Default: its own user.",
  ),
  accountDirectory: FilePath.optional().describe(
    "Directory in which the token host records uses of keys and counts wrong secrets, accessible to its user only. Default: /var/lib/signetd-token/account or, if the daemon starts the host, the socket's path with .account appended.",
  ),
  accountRotateBytes: z
    .int()
    .min(4096)
    .default(64 * 1024 * 1024)
    .describe('Size in bytes at which a file of the account is closed and the next one begins.'),
  wrongSecretsMax: z
    .int()
    .min(1)
    .max(10_000)
    .default(30)
    .describe('Number of wrong secrets that the token host compares for one key before it refuses the key for a while.'),
  wrongSecretSeconds: z
    .int()
    .positive()
    .max(7 * 24 * 3600)
    .default(300)
    .describe('Seconds after which the token host allows one more wrong secret.'),
  environment: z
    .record(z.string(), z.string())
    .default({})
    .describe('Further environment variables of the token host, such as SOFTHSM2_CONF.'),
});
export type TokenConfig = z.output<typeof TokenConfig>;

/** Returns the directory in which the token host keeps its own records. */
export function accountDirectoryOf({ accountDirectory, host, socketPath }: TokenConfig): string {
  return accountDirectory ?? (host === 'spawn' ? `${socketPath}.account` : '/var/lib/signetd-token/account');
}

/** Makes the paths absolute. */
export function absoluteToken(token: TokenConfig, base: string): TokenConfig {
  const pin = token.pin.startsWith('file:') ? `file:${resolve(base, token.pin.slice('file:'.length))}` : token.pin;
  return {
    ...token,
    pin,
    ...(token.profile.includes('/') ? { profile: resolve(base, token.profile) } : {}),
    socketPath: resolve(base, token.socketPath),
    ...(token.accountDirectory === undefined ? {} : { accountDirectory: resolve(base, token.accountDirectory) }),
    ...(token.modulePath === undefined ? {} : { modulePath: resolve(base, token.modulePath) }),
  };
}
