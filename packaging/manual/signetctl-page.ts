import { runnable, type CommandText, type OptionText } from './command-tree.ts';
import { bold, flags, italic, manualPage, roff } from './roff.ts';

/** signetctl(1), from its commands. */
export function signetctlPage(program: CommandText, version: string, date: string): string {
  return manualPage({
    name: 'signetctl',
    section: 1,
    purpose: 'administer signetd and its token',
    date,
    version,
    lines: [
      '.SH SYNOPSIS',
      `.B signetctl\n[\\fIoptions\\fR] \\fIcommand\\fR ...`,
      '.SH DESCRIPTION',
      `${roff('signetctl is the command line of operators of')} \\fBsignetd\\fR(8).`,
      roff('It reads the configuration of the service, and talks to the service through a Unix socket.'),
      roff('It is run as root, as the user of the service, or as a member of the group signetd-admin if admin.access is group.'),
      '.PP',
      roff('The output is text, or JSON with --json. Notes and faults go to standard error.'),
      '.SH OPTIONS',
      roff('These precede or follow every command.'),
      ...program.options.flatMap(optionLines),
      '.SH COMMANDS',
      ...runnable(program).flatMap(commandLines),
      '.SH EXIT STATUS',
      ...exitStatus.flatMap(([code, meaning]) => ['.TP', bold(code), roff(meaning)]),
      '.SH FILES',
      '.TP',
      italic('/etc/signetd/signetd.yaml'),
      'The configuration.',
      '.TP',
      italic('/run/signetd/admin.sock'),
      'The socket of the service, unless admin.socketPath names another one.',
    ],
    seeAlso: [
      ['signetd.yaml', 5],
      ['signetd', 8],
    ],
  });
}

/** As in docs/signetctl.md. */
const exitStatus = [
  ['0', 'Success.'],
  ['1', 'The command ran and found a fault.'],
  ['2', 'The command line is wrong.'],
  ['3', 'The token cannot be reached.'],
  ['4', 'The token refuses the PIN, which was tried only once.'],
  ['5', 'The command is refused in the present state.'],
  ['6', 'The command needs signetd, which is not running or does not answer.'],
  ['7', 'twoddoc decode: the signature is not that of the certificate.'],
  ['70', 'Internal error in signetctl.'],
  ['78', 'The configuration is not valid.'],
] as const;

function commandLines({ words, description, options, operands }: CommandText): readonly string[] {
  const needed = options.filter(({ isRequired }) => isRequired).map((option) => flags(option.flags));
  const operandTexts = operands.map(({ name, isRequired, isVariadic }) => {
    const text = `${italic(name)}${isVariadic ? ' ...' : ''}`;
    return isRequired ? text : `[${text}]`;
  });
  const rest = options.some(({ isRequired }) => !isRequired) ? ['[\\fIoptions\\fR]'] : [];
  return [
    `.SS ${[bold(words.join(' ')), ...needed, ...rest, ...operandTexts].join(' ')}`,
    roff(sentence(description)),
    ...operands
      .filter((operand) => operand.description !== '')
      .flatMap((operand) => ['.TP', italic(operand.name), roff(sentence(operand.description))]),
    ...options.flatMap(optionLines),
  ];
}

function optionLines({ flags: text, description, defaultText, choices }: OptionText): readonly string[] {
  const notes = [
    ...(choices.length === 0 ? [] : [`One of ${choices.join(', ')}.`]),
    ...(defaultText === undefined ? [] : [`Default: ${defaultText}`]),
  ];
  return ['.TP', flags(text), roff([sentence(description), ...notes].join(' '))];
}

function sentence(text: string): string {
  const begun = `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
  return /[.?!]$/.test(begun) || begun === '' ? begun : `${begun}.`;
}
