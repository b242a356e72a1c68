import type { Command } from 'commander';
import { NoOptions, type Runs } from './runs.ts';

/** `signetctl answers …` */
export function addAnswersCommands(program: Command, runs: Runs): void {
  const answers = program.command('answers').description('manage the key that kept answers and sessions are sealed with');
  runs(
    answers.command('status').description('show which keys there are, and how much depends on former ones'),
    async () => import('./answers.ts'),
    ({ answersStatus }) => [NoOptions, answersStatus],
  );
  runs(
    answers.command('rotate').description('make another key; the former one is destroyed once all that it sealed has ended'),
    async () => import('./answers.ts'),
    ({ answersRotate }) => [NoOptions, answersRotate],
  );
}
