import { configurationSections, type MemberText } from '../../docs/configuration-members.ts';
import { bold, italic, manualPage, roff } from './roff.ts';

/** signetd.yaml(5), from the JSON Schema of the configuration. */
export function configurationPage(schema: unknown, version: string, date: string): string {
  const sections = configurationSections(schema).flatMap(({ name, own, members }) => [
    `.SS ${bold(name)}`,
    ...described(own),
    ...members.flatMap((member, index) => [...kindLines(member, members[index - 1]), ...paragraph(member)]),
  ]);
  return manualPage({
    name: 'signetd.yaml',
    section: 5,
    purpose: 'configuration of signetd',
    date,
    version,
    lines: [
      '.SH SYNOPSIS',
      italic('/etc/signetd/signetd.yaml'),
      '.SH DESCRIPTION',
      ...[
        'The configuration of signetd is one YAML file. Unknown members are refused, and so are values of another type: nothing is converted.',
        'Names of members have their units. Relative paths are relative to the file.',
        'The file contains no secrets, only references to them: file:<path> (mode 0600), or credential:<name> for a credential of systemd.',
        '"signetctl config check" reports every fault; "systemctl reload signetd.service" applies a changed file whole or not at all.',
      ].map(roff),
      '.PP',
      roff('Members below are named by their path. <name> is a name that the operator chooses, [] an entry of a list.'),
      '.SH SECTIONS',
      ...sections,
      '.SH EXAMPLES',
      `${italic('/usr/share/doc/signetd/examples/signetd.yaml')} is a configuration with comments.`,
    ],
    seeAlso: [
      ['signetctl', 1],
      ['signetd', 8],
    ],
  });
}

function described({ description }: MemberText): readonly string[] {
  return description === undefined ? [] : [roff(description)];
}

/** Which of several forms of a section the next members belong to. */
function kindLines({ kind }: MemberText, before: MemberText | undefined): readonly string[] {
  return kind === undefined || kind === before?.kind ? [] : ['.PP', roff(`With kind: ${kind}:`)];
}

/** A member as a tagged paragraph. */
function paragraph(member: MemberText): readonly string[] {
  const { path, type, isRequired, defaultText } = member;
  const facts = [type, isRequired ? 'required' : '', defaultText === undefined ? '' : `default: ${defaultText}`].filter(
    (fact) => fact !== '',
  );
  return ['.TP', bold(path), ...described(member), ...(facts.length === 0 ? [] : [roff(`(${facts.join('; ')})`)])];
}
