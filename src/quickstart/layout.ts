import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The path of a Unix socket has at most 107 bytes; the sockets of threads add a suffix. */
const maxSocketPathBytes = 100;

/** The clone from which this code runs. */
export const projectDirectory = fileURLToPath(new URL('../..', import.meta.url));

/**
 * SIGNETD_QUICKSTART_DIRECTORY names another directory, for several environments of one clone, as
 * in the tests. Empty means unset.
 */
const named = process.env['SIGNETD_QUICKSTART_DIRECTORY'] ?? '';
const directory = named === '' ? join(projectDirectory, 'var', 'quickstart') : resolve(named);

/** The commands that stop and start this environment, for a shell. */
export const commands = { stop: ofThisDirectory('npm run quickstart:stop'), start: ofThisDirectory('npm run quickstart') };

function ofThisDirectory(command: string): string {
  if (named === '') return command;
  const word = /^[\w./-]+$/.test(directory) ? directory : `'${directory.replaceAll("'", `'\\''`)}'`;
  return `SIGNETD_QUICKSTART_DIRECTORY=${word} ${command}`;
}

const inside = (...parts: string[]): string => join(directory, ...parts);

/** Paths of all files of the quickstart. */
export const layout = {
  directory,
  description: inside('quickstart.json'),
  /** Marks the directory as the quickstart's, which may therefore remove everything in it. */
  mark: inside('.signetd-quickstart'),
  config: inside('signetd.yaml'),
  log: inside('daemon.log'),
  pid: inside('daemon.pid'),
  state: inside('state.sqlite'),
  audit: inside('audit'),
  tokenAccount: inside('token-account'),
  token: { directory: inside('token'), softhsmConfig: inside('token', 'softhsm2.conf'), pin: inside('token', 'pin') },
  tls: inside('tls'),
  pki: inside('pki'),
  twoDDoc: inside('2d-doc'),
  first: inside('first-signature'),
  outbox: inside('outbox'),
  read: inside('read'),
  write: inside('write'),
  files: inside('files'),
  identityProvider: {
    directory: inside('identity-provider'),
    signingKey: inside('identity-provider', 'signing-key.pem'),
    keySet: inside('identity-provider', 'jwks.json'),
  },
  gateways: {
    directory: inside('gateways'),
    ports: inside('gateways', 'ports.json'),
    pid: inside('gateways', 'gateways.pid'),
    log: inside('gateways', 'gateways.log'),
    smtpPassword: inside('gateways', 'smtp-password'),
    smsToken: inside('gateways', 'sms-token'),
  },
} as const;

export const clientFiles = (name: string): { certificate: string; key: string } => ({
  certificate: join(layout.tls, `${name}.pem`),
  key: join(layout.tls, `${name}.key`),
});

/**
 * Creates the directory, removing the rest of an interrupted set-up.
 * @throws {Error} if it has other files, so that a directory named by mistake loses nothing
 */
export function makeDirectory(): void {
  if (named !== '' && !existsSync(layout.mark) && existsSync(directory) && readdirSync(directory).length > 0) {
    throw new Error(
      `${directory} has files that do not belong to a quickstart: SIGNETD_QUICKSTART_DIRECTORY must name an empty or new directory`,
    );
  }
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileSync(layout.mark, '');
}

/** The token host's socket. */
export function tokenSocketPath(): string {
  return socketPath('token.sock');
}

/** The socket of signetctl. */
export function adminSocketPath(): string {
  return socketPath('admin.sock');
}

/**
 * Returns a path beside the other files or, if that would be too long, in a private directory of
 * this user.
 */
function socketPath(name: string): string {
  const path = inside(name);
  if (Buffer.byteLength(path) <= maxSocketPathBytes) return path;
  const short = join(tmpdir(), `signetd-${createHash('sha256').update(directory).digest('hex').slice(0, 16)}`);
  if (!existsSync(short)) mkdirSync(short, { mode: 0o700 });
  const { uid, mode } = statSync(short);
  if (uid !== userInfo().uid || (mode & 0o077) !== 0) throw new Error(`${short} belongs to another user, or others can use it`);
  return join(short, name);
}
