import { configurationSections, type MemberText } from './configuration-members.ts';
import { wrapped } from './wrapped.ts';

/** docs/configuration.md: each section and member of the configuration, from its JSON Schema. */
export function configurationReference(schema: unknown): string {
  const sections = configurationSections(schema).flatMap(({ name, own, members }) => [
    '',
    `## ${name}`,
    ...(own.description === undefined ? [] : ['', wrapped(own.description)]),
    '',
    '| member | type | default | meaning |',
    '|---|---|---|---|',
    // A section without members is a value itself.
    ...(members.length === 0 ? [own] : members).map(row),
  ]);
  return [...introduction, ...sections, ''].join('\n');
}

const introduction = [
  '# Configuration',
  '',
  '<!-- Written by `npm run docs` from src/config/. -->',
  '',
  'The configuration of signetd is one YAML file, by default `/etc/signetd/signetd.yaml`. This page lists every section and',
  'member in the order of the schema; [configuring.md](configuring.md#configuration) explains the purpose of each section. The',
  'manual page signetd.yaml(5) has the same content. Editors that check YAML read it from',
  '[configuration.schema.json](configuration.schema.json).',
  '',
  'Unknown members are refused, and so are values of another type. Units are in the names of members. Relative paths are',
  'relative to the file. Secrets are references: `file:<path>` (mode 0600, or 0440 for a group of the service) or',
  '`credential:<name>` (systemd). `signetctl config check` reports every fault.',
  '',
  'Members are named by their path. `<name>` is a name that you choose, `[]` an entry of a list. The type `object by name`',
  'has such names. If an optional member has no default in its column, its meaning states the default, or it has no effect',
  'unless it is set.',
];

function row(member: MemberText): string {
  const { path, type, isRequired, defaultText } = member;
  const value = isRequired ? 'required' : defaultText === undefined ? '' : `\`${defaultText}\``;
  return `| ${[`\`${path}\``, type, value, meaning(member)].map(cell).join(' | ')} |`;
}

function meaning({ description, kind, type }: MemberText): string {
  const text = description ?? (type === 'object' ? 'its members follow' : '');
  return kind === undefined ? text : `with \`kind: ${kind}\`: ${text}`;
}

/** Markdown would take `<name>` for an element, and `|` for the end of the cell. */
function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll(/(`[^`]*`)|</g, (_found, code: string | undefined) => code ?? String.raw`\<`);
}
