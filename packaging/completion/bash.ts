import type { CommandText } from '../manual/command-tree.ts';
import { places, quoted, valued, type Place } from './completed-words.ts';

/** The completion of bash: subcommands, options, and files after the options that take one. */
export function bashCompletion(program: CommandText): string {
  const all = places(program);
  return `# bash completion of signetctl, made from its commands.

# Prints the commands and options that may follow the words of $1.
_signetctl_next() {
  case "$1" in
${all.map((place) => `    ${quoted(place.path)}) echo ${quoted(wordsOf(place))} ;;`).join('\n')}
  esac
}

# Prints what completes the value of option $2 of the command $1: file, folder, other or words:...; nothing for a flag.
_signetctl_value() {
  case "$1 $2" in
${all.flatMap(valueLines).join('\n')}
  esac
}

_signetctl() {
  local current=\${COMP_WORDS[COMP_CWORD]} path='' word value next index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    value=$(_signetctl_value "$path" "$word")
    if [[ -n $value ]]; then
      if ((index + 1 == COMP_CWORD)); then
        case $value in
          file) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
          folder) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
          words:*) mapfile -t COMPREPLY < <(compgen -W "\${value#words:}" -- "$current") ;;
        esac
        return
      fi
      index=$((index + 1))
    elif [[ $word != -* ]]; then
      next=" $(_signetctl_next "$path") "
      [[ $next != *" $word "* ]] || path="\${path:+$path }$word"
    fi
  done
  mapfile -t COMPREPLY < <(compgen -W "$(_signetctl_next "$path")" -- "$current")
  case "$path" in
${filePlaces(all)}  esac
}

complete -F _signetctl signetctl
`;
}

function wordsOf({ commands, options }: Place): string {
  return [...commands.map(({ name }) => name), ...options.flatMap(({ names }) => names)].join(' ');
}

function valueLines({ path, options }: Place): readonly string[] {
  const line = (names: readonly string[], kind: string): string[] =>
    names.length === 0 ? [] : [`    ${names.map((name) => quoted(`${path} ${name}`)).join(' | ')}) echo ${quoted(kind)} ;;`];
  return [
    ...(['file', 'folder', 'other'] as const).flatMap((kind) => line(valued(options, kind), kind)),
    ...options.filter(({ choices }) => choices.length > 0).flatMap(({ names, choices }) => line(names, `words:${choices.join(' ')}`)),
  ];
}

function filePlaces(all: readonly Place[]): string {
  const paths = all.filter(({ takesFiles }) => takesFiles).map(({ path }) => quoted(path));
  if (paths.length === 0) return '    *) ;;\n';
  return `    ${paths.join(' | ')}) compopt -o filenames && mapfile -t -O \${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current") ;;\n`;
}
