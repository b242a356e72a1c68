import type { CommandText } from '../manual/command-tree.ts';
import { kindOf, places, quoted, type Place } from './completed-words.ts';

/** The completion of zsh: subcommands and options with their descriptions, and files after the options that take one. */
export function zshCompletion(program: CommandText): string {
  const all = places(program);
  return `#compdef signetctl
# zsh completion of signetctl, made from its commands.

_signetctl() {
  local path_of='' word index action
  local -a commands options
  for ((index = 2; index < CURRENT; index++)); do
    word=$words[index]
    _signetctl_at "$path_of"
    action=$(_signetctl_value "$path_of" "$word")
    if [[ -n $action ]]; then
      if ((index + 1 == CURRENT)); then
        case $action in
          file) _files ;;
          folder) _files -/ ;;
          words:*) compadd -- \${=action#words:} ;;
          *) _message value ;;
        esac
        return
      fi
      ((index++))
    elif [[ $word != -* && -n \${(M)commands:#$word:*} ]]; then
      path_of="\${path_of:+$path_of }$word"
    fi
  done
  _signetctl_at "$path_of"
  if [[ $words[CURRENT] == -* ]]; then
    _describe option options
  elif ((\${#commands})); then
    _describe command commands
  else
    _signetctl_operand "$path_of"
  fi
}

_signetctl_at() {
  case "$1" in
${all.map(placeLines).join('\n')}
  esac
}

_signetctl_value() {
  case "$1 $2" in
${all.flatMap(valueLines).join('\n')}
  esac
}

_signetctl_operand() {
  case "$1" in
${all
  .filter(({ takesFiles }) => takesFiles)
  .map(({ path }) => `    ${quoted(path)}) _files ;;`)
  .join('\n')}
    *) _describe option options ;;
  esac
}

_signetctl "$@"
`;
}

function placeLines({ path, commands, options }: Place): string {
  const described = (name: string, description: string): string => quoted(`${name}:${description.replaceAll(':', String.raw`\:`)}`);
  return [
    `    ${quoted(path)})`,
    `      commands=(${commands.map(({ name, description }) => described(name, description)).join(' ')})`,
    `      options=(${options.flatMap(({ names, description }) => names.map((name) => described(name, description))).join(' ')})`,
    '      ;;',
  ].join('\n');
}

function valueLines({ path, options }: Place): readonly string[] {
  return options.flatMap(({ names, value, choices }) => {
    if (value === undefined) return [];
    const action = choices.length > 0 ? `words:${choices.join(' ')}` : kindOf(value);
    return [`    ${names.map((name) => quoted(`${path} ${name}`)).join(' | ')}) echo ${quoted(action)} ;;`];
  });
}
