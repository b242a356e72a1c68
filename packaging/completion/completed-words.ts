import type { CommandText, OptionText } from '../manual/command-tree.ts';

/** What a shell offers after the words of one command or group. */
export interface Place {
  /** The words so far, separated by spaces; empty after `signetctl`. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly OptionText[];
  /** Whether its operands are files. */
  readonly takesFiles: boolean;
}

const help: OptionText = {
  flags: '-h, --help',
  names: ['-h', '--help'],
  description: 'display help for command',
  value: undefined,
  isRequired: false,
  defaultText: undefined,
  choices: [],
};

/** Returns all places, those of groups before those of their commands. Options of the program are valid everywhere. */
export function places(program: CommandText, inherited: readonly OptionText[] = []): readonly Place[] {
  const ownOptions = program.options.filter(({ names }) => !inherited.some((option) => option.names.some((name) => names.includes(name))));
  const options = [...ownOptions, ...inherited];
  return [
    {
      path: program.words.join(' '),
      commands: program.commands.map(({ words, description }) => ({ name: words.at(-1) ?? '', description })),
      options: [...options, help],
      takesFiles: program.operands.some(({ name }) => kindOf(name) === 'file'),
    },
    ...program.commands.flatMap((command) => places(command, options)),
  ];
}

const fileValues = /^(?:file|path|csr|.*-file)$/;
const folderValues = /^(?:directory|folder)$/;

/** What a value of this name is completed with. */
export function kindOf(value: string): 'file' | 'folder' | 'other' {
  return fileValues.test(value) ? 'file' : folderValues.test(value) ? 'folder' : 'other';
}

/** Options that take a value, by what completes it: the names, without those that any text may follow. */
export function valued(options: readonly OptionText[], kind: 'file' | 'folder' | 'other'): readonly string[] {
  return options
    .filter(({ value, choices }) => value !== undefined && choices.length === 0 && kindOf(value) === kind)
    .flatMap(({ names }) => names);
}

/** The text between single quotes of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
