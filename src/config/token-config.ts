import { resolve } from 'node:path';
import { z } from 'zod';
import { Account } from './account.ts';
import { SecretReference } from './state-config.ts';

const FilePath = z.string().min(1);

/** The section that the token host reads too. */
export const TokenConfig = z.strictObject({
  profile: z
    .string()
    .regex(/^([a-z0-9-]+|.*\/[^/]+\.yaml)$/, 'the name of a profile, or a path to a .yaml file')
    .default('softhsm2')
    .describe('What is particular to the HSM: the name of a file in native-config/, or the path of one of the same form.'),
  modulePath: FilePath.optional().describe('File of the PKCS#11 module. Absent: the first path of the profile that exists.'),
  isolateModule: z.boolean().default(false).describe('Binds the module to its own libcrypto, and not to the OpenSSL that Node exports.'),
  label: z.string().min(1).max(32).describe('Label of the token, at most 32 characters.'),
  pin: SecretReference.describe('Where the PIN of the token lies: file:<path> or credential:<name>.'),
  threads: z.int().min(1).max(64).default(2).describe('Threads of the token host, each with a session of its own.'),
  callTimeoutSeconds: z
    .number()
    .positive()
    .max(600)
    .default(30)
    .describe('Seconds that one call of the module may take; then the host is replaced.'),
  queueMaxRequests: z.int().positive().default(4096).describe('Requests that may wait for the token; further ones are 503.'),
  outageSeconds: z
    .number()
    .positive()
    .max(600)
    .default(10)
    .describe('Seconds that requests wait for a token host that is away before they are refused at once.'),
  recycleAfterRequests: z
    .int()
    .positive()
    .default(5_000_000)
    .describe("Requests after which the token host is replaced, since vendors' modules lose memory."),
  recycleAfterSeconds: z
    .int()
    .positive()
    .default(24 * 3600)
    .describe('Seconds after which the token host is replaced.'),
  host: z
    .enum(['spawn', 'external'])
    .default('external')
    .describe('spawn: the daemon starts and restarts the token host. external: somebody else does (systemd), and the daemon connects.'),
  socketPath: FilePath.default('/run/signetd-token/token.sock').describe("The token host's Unix socket."),
  clientUser: Account.optional().describe(
    'The user of the daemon, by name or number, where it is another one than that of the token host. Root apart, the host serves no other user. Absent: its own.',
  ),
  accountDirectory: FilePath.optional().describe(
    "Where the token host keeps its account of the uses of keys and its count of wrong secrets; for its user alone. Absent: /var/lib/signetd-token/account; where the daemon starts the host, the socket's path with .account after it.",
  ),
  accountRotateBytes: z
    .int()
    .min(4096)
    .default(64 * 1024 * 1024)
    .describe('A file of the account that has grown to this is closed, and the next one begins.'),
  wrongSecretsMax: z
    .int()
    .min(1)
    .max(10_000)
    .default(30)
    .describe(
      'Wrong secrets that the token host compares for one key at once, whatever it is asked; then it answers for the key no more for a while.',
    ),
  wrongSecretSeconds: z
    .int()
    .positive()
    .max(7 * 24 * 3600)
    .default(300)
    .describe('Seconds after which the token host compares one wrong secret more.'),
  environment: z.record(z.string(), z.string()).default({}).describe('Further environment of the token host, such as SOFTHSM2_CONF.'),
});
export type TokenConfig = z.output<typeof TokenConfig>;

/** Where the token host keeps what it has to remember itself. */
export function accountDirectoryOf({ accountDirectory, host, socketPath }: TokenConfig): string {
  return accountDirectory ?? (host === 'spawn' ? `${socketPath}.account` : '/var/lib/signetd-token/account');
}

/** The same with absolute paths. */
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
