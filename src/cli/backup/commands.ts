import type { Command } from 'commander';
import { z } from 'zod';
import type { Runs } from '../runs.ts';

/** `signetctl backup …` */
export function addBackupCommands(program: Command, runs: Runs): void {
  const backup = program.command('backup').description('back up signetd and restore it; the token has a backup of its own');
  runs(
    backup
      .command('create')
      .description('write an encrypted backup: state, configuration, audit log; signetd may run')
      .requiredOption('--output <file>', 'new file; an existing one is not overwritten')
      .requiredOption(
        '--recipient <key...>',
        "operators' public keys (age1…), or files with them: any one of their private keys opens the backup",
      )
      .option('--transfer-store', 'include the files of the transfer store')
      .option('--no-account', "leave out the token host's account of uses, which only root can read"),
    async () => import('./create.ts'),
    ({ CreateOptions, backupCreate }) => [CreateOptions, backupCreate],
  );
  runs(
    reading(
      backup.command('verify').description('decrypt a backup and check everything in it; without a private key nothing can be checked'),
    ),
    async () => import('./verify.ts'),
    ({ VerifyOptions, backupVerify }) => [VerifyOptions, backupVerify],
  );
  runs(
    reading(backup.command('restore').description('put a backup into place; only while signetd and its token host are stopped'))
      .option('--to <directory>', 'directory in front of all paths', '/')
      .option('--only <parts>', 'comma-separated: configuration, state, audit, transfer; by default all that the backup has')
      .option('--replace', 'keep existing files under other names instead of refusing')
      .option('--any-origin', 'restore without --sha256 a file that anybody may have made, to places of signetd')
      .option('--allow-path <directory...>', 'with --any-origin: further directories, in which the backup may put files'),
    async () => import('./restore.ts'),
    ({ RestoreOptions, backupRestore }) => [RestoreOptions, backupRestore],
  );
  runs(
    backup.command('compare').description('list keys that only the state store or only the token has, and what to do about each'),
    async () => import('./compare.ts'),
    ({ backupCompare }) => [z.object({}), backupCompare],
  );
}

function reading(command: Command): Command {
  return command
    .argument('<file>', 'the backup')
    .requiredOption('--identity <file>', 'private key of age (AGE-SECRET-KEY-1…), mode 0600; - for standard input')
    .option('--sha256 <digest>', 'refuse the file unless this is its SHA-256, as backup create printed it')
    .option('--work-directory <directory>', 'directory for temporary files of the size of the state and the audit log');
}
