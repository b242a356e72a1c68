import type { Command } from 'commander';

export interface OptionText {
  /** As in the help: `--config <file>`. */
  readonly flags: string;
  /** With hyphens: `--config`. */
  readonly names: readonly string[];
  readonly description: string;
  /** Name of its value, such as `file`; undefined if it takes none. */
  readonly value: string | undefined;
  readonly isRequired: boolean;
  readonly defaultText: string | undefined;
  readonly choices: readonly string[];
}

/** A command or a group of commands. */
export interface CommandText {
  /** The words after `signetctl`. */
  readonly words: readonly string[];
  readonly description: string;
  readonly options: readonly OptionText[];
  /** As in the help: `<client>`. */
  readonly operands: readonly {
    readonly name: string;
    readonly isRequired: boolean;
    readonly isVariadic: boolean;
    readonly description: string;
  }[];
  readonly commands: readonly CommandText[];
}

/** Returns what man pages and completions say of a command and those below it. */
export function commandTree(command: Command, above: readonly string[] = []): CommandText {
  return {
    words: above,
    description: command.description(),
    options: command.options
      .filter(({ hidden }) => !hidden)
      .map((option) => ({
        flags: option.flags,
        names: [option.short, option.long].flatMap((name) => name ?? []),
        description: option.description,
        value: /[<[]([^>\].]+)/.exec(option.flags)?.[1],
        isRequired: option.mandatory,
        defaultText: typeof option.defaultValue === 'string' ? option.defaultValue : undefined,
        choices: option.argChoices ?? [],
      })),
    operands: command.registeredArguments.map((operand) => ({
      name: operand.name(),
      isRequired: operand.required,
      isVariadic: operand.variadic,
      description: operand.description,
    })),
    commands: command.commands.map((below) => commandTree(below, [...above, below.name()])),
  };
}

/** Returns the commands that can be run, not the groups, in their order. */
export function runnable({ commands }: CommandText): readonly CommandText[] {
  return commands.flatMap((command) => (command.commands.length === 0 ? [command] : runnable(command)));
}
