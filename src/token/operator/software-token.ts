import { existsSync, readFileSync, statSync } from 'node:fs';
import type { TokenConfig } from '../../config/token-config.ts';
import { foreignOwner, type FileOwner } from '../../service/file-owner.ts';
import { native } from '../../service/native.ts';
import { giveRootMadeFiles } from '../../service/root-made-files.ts';
import { loadProfile } from '../host/module-profile.ts';
import type { TokenOwner } from '../host/token-owner.ts';

const settingsVariable = 'SOFTHSM2_CONF';

/**
 * Prepares a SoftHSM token for use by the user whom its settings or its directory belong to: gives
 * them the files that root has made there with other programs, and returns the user as whom root
 * must use the token. Undefined if it is root's, if this process is not root, and for an HSM.
 */
export async function prepareSoftwareToken(config: TokenConfig): Promise<TokenOwner | undefined> {
  const settings = process.geteuid?.() === 0 ? settingsOf(config) : undefined;
  if (settings === undefined || !existsSync(settings)) return undefined;
  // Whoever can write the settings says where the directory is.
  const ofSettings = foreignOwner(settings);
  if (ofSettings !== undefined) return ownerOf(ofSettings, [], [settings]);
  const [, directory] = /^\s*directories\.tokendir\s*=\s*(\S.*?)\s*$/m.exec(readFileSync(settings, 'utf8')) ?? [];
  const owner = directory === undefined ? undefined : foreignOwner(directory);
  if (directory === undefined || owner === undefined) return undefined;
  giveRootMadeFiles(directory);
  // The settings may be readable by a group to which the host's unit adds this user.
  const { gid } = statSync(settings);
  return ownerOf(owner, gid === 0 ? [] : [gid], [settings, directory]);
}

/** Returns the path of SoftHSM's settings; undefined if the token is of another kind. */
function settingsOf({ environment, profile }: TokenConfig): string | undefined {
  const configured = environment[settingsVariable];
  if (configured !== undefined) return configured;
  const used = variablesOf(profile).find(({ name }) => name === settingsVariable);
  return used === undefined ? undefined : (process.env[settingsVariable] ?? used.defaultPaths.find((path) => existsSync(path)));
}

/** None for a profile that cannot be read, which the process that loads the module reports. */
function variablesOf(profile: string): ReturnType<typeof loadProfile>['environment'] {
  try {
    return loadProfile(profile).environment;
  } catch {
    return [];
  }
}

async function ownerOf({ uid, gid }: FileOwner, groups: readonly number[], paths: string[]): Promise<TokenOwner> {
  const own = (await native().groupsOf(uid)) ?? [gid];
  return { uid, gid: own[0] ?? gid, groups: [...new Set([...own, ...groups])], paths };
}
