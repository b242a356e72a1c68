import { accessSync, constants, statSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError } from '../../config/config-error.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';

/** The user as whom a process that root's signetctl starts uses a software token. */
const TokenOwner = z.strictObject({
  uid: z.int(),
  gid: z.int(),
  groups: z.array(z.int()),
  /** The settings and the directory of the token, as far as they are known. */
  paths: z.array(z.string()),
});
export type TokenOwner = z.output<typeof TokenOwner>;

const variable = 'SIGNETD_TOKEN_OWNER';

/** Returns the environment by which a process learns the user; empty if it stays what it is. */
export function ownerEnvironment(owner: TokenOwner | undefined): NodeJS.ProcessEnv {
  return owner === undefined ? {} : { [variable]: JSON.stringify(owner) };
}

/** Whether this process is to become the owner of the token before it loads the module. */
export function isToBecomeTokenOwner(): boolean {
  return process.env[variable] !== undefined;
}

/**
 * Becomes the owner of a software token for good, if signetctl has asked for it. Secrets and the
 * configuration, which may be root's alone, must have been read before.
 * @throws {ConfigError} if that user cannot use the token
 */
export function becomeTokenOwner(): void {
  const text = process.env[variable];
  if (text === undefined) return;
  const { uid, gid, groups, paths } = TokenOwner.parse(JSON.parse(text));
  process.setgroups?.(groups);
  process.setgid?.(gid);
  process.setuid?.(uid);
  // Not before: if one of them fails, the next call must fail, too.
  delete process.env[variable];
  for (const path of paths) {
    try {
      const { R_OK, W_OK, X_OK } = constants;
      accessSync(path, statSync(path).isDirectory() ? R_OK | W_OK | X_OK : R_OK);
    } catch (error) {
      throw new ConfigError(`root uses the software token as its owner, user ${uid}, who cannot use ${path}: ${reasonOf(error)}`);
    }
  }
}
