import type { CommandText, OptionText } from '../manual/command-tree.ts';
import { kindOf, places, type Place } from './completed-words.ts';

/** The completion of fish: subcommands and options with their descriptions, and files after the options that take one. */
export function fishCompletion(program: CommandText): string {
  const all = places(program);
  const withValue = [
    ...new Set(all.flatMap(({ options }) => options.filter(({ value }) => value !== undefined).flatMap(({ names }) => names))),
  ];
  const paths = all.map(({ path }) => path).filter((path) => path !== '');
  return [
    '# fish completion of signetctl, made from its commands.',
    '',
    '# Whether the words so far name the command of the arguments, and nothing below it.',
    'function __signetctl_at',
    "    set -l path ''",
    '    set -l skipped no',
    '    for word in (commandline -opc)[2..]',
    '        if test $skipped = yes',
    '            set skipped no',
    `        else if contains -- $word ${withValue.join(' ')}`,
    '            set skipped yes',
    "        else if not string match -q -- '-*' $word",
    '            set -l longer (string trim -- "$path $word")',
    `            contains -- $longer ${paths.map(quoted).join(' ')}; and set path $longer`,
    '        end',
    '    end',
    '    test "$path" = "$argv"',
    'end',
    '',
    'complete -c signetctl -f',
    ...all.flatMap(linesOf),
    '',
  ].join('\n');
}

function linesOf({ path, commands, options, takesFiles }: Place): readonly string[] {
  const here = `complete -c signetctl -n ${quoted(`__signetctl_at ${path}`.trim())}`;
  return [
    ...commands.map(({ name, description }) => `${here} -a ${name} -d ${quoted(description)}`),
    ...options.map((option) => `${here} ${optionText(option)} -d ${quoted(option.description)}`),
    ...(takesFiles ? [`${here} -F`] : []),
  ];
}

function optionText({ names, value, choices }: OptionText): string {
  const spelt = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`)).join(' ');
  if (value === undefined) return spelt;
  if (choices.length > 0) return `${spelt} -x -a ${quoted(choices.join(' '))}`;
  const kind = kindOf(value);
  return kind === 'file' ? `${spelt} -r -F` : kind === 'folder' ? `${spelt} -x -a '(__fish_complete_directories)'` : `${spelt} -x`;
}

/** fish knows two escapes between single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}
