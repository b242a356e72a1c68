import type { Command } from 'commander';
import { NoOptions, type Runs } from './runs.ts';

/** `signetctl mac …` */
export function addMacCommands(program: Command, runs: Runs): void {
  const mac = program.command('mac').description('manage the key that secrets of keys are verified with');
  runs(
    mac.command('status').description('show which MAC keys there are, and how many secrets depend on former ones'),
    async () => import('./mac.ts'),
    ({ macStatus }) => [NoOptions, macStatus],
  );
  runs(
    mac.command('rotate').description('make another MAC key; each secret is made anew at its next use'),
    async () => import('./mac.ts'),
    ({ macRotate }) => [NoOptions, macRotate],
  );
  runs(
    mac
      .command('destroy-former')
      .description('destroy the former MAC keys, once no secret depends on them')
      .option('--force', 'destroy them in any case: keys whose secrets depend on them can never sign again'),
    async () => import('./mac.ts'),
    ({ DestroyOptions, macDestroy }) => [DestroyOptions, macDestroy],
  );
}
