import type { Command } from 'commander';
import type { Runs } from './runs.ts';

const reference = ['<reference>', 'its keyReference.reference'] as const;

/** `signetctl key …` */
export function addKeyCommands(program: Command, runs: Runs): void {
  const key = program.command('key').description("manage the callers' keys");
  runs(
    key.command('list').description('list all keys with their states').option('--tenant <tenant>', 'only keys of this tenant'),
    async () => import('./key.ts'),
    ({ KeyListOptions, keyList }) => [KeyListOptions, keyList],
  );
  runs(
    key
      .command('show')
      .description('show a key')
      .argument(...reference),
    async () => import('./key.ts'),
    ({ KeyReference, keyShow }) => [KeyReference, keyShow],
  );
  runs(
    key
      .command('unlock')
      .description('unlock a key and reset its attempts')
      .argument(...reference),
    async () => import('./key.ts'),
    ({ KeyReference, keyUnlock }) => [KeyReference, keyUnlock],
  );
  runs(
    key
      .command('remove')
      .description('permanently destroy a private key, without its secret')
      .argument(...reference),
    async () => import('./key.ts'),
    ({ KeyReference, keyRemove }) => [KeyReference, keyRemove],
  );
}
