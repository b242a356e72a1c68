import type { Command } from 'commander';
import { examples } from './examples.ts';
import { failures } from './exit-codes.ts';

/** Adds examples to the help of each command, and the exit codes to that of the program. */
export function addHelpTexts(program: Command): void {
  const codes = [{ exitCode: 0, meaning: 'success' }, ...failures];
  const lines = codes.map(({ exitCode, meaning }) => `  ${String(exitCode).padEnd(4)}${meaning}`);
  program.addHelpText('after', `\nExit codes:\n${lines.join('\n')}`);
  addExamples(program, []);
}

function addExamples(command: Command, path: readonly string[]): void {
  for (const child of command.commands) {
    const name = [...path, child.name()];
    const lines = examples.get(name.join(' ')) ?? [];
    if (lines.length > 0)
      child.addHelpText('after', `\nExample${lines.length === 1 ? '' : 's'}:\n${lines.map((line) => `  $ ${line}`).join('\n')}`);
    addExamples(child, name);
  }
}
