import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isRuntime } from './program-files.ts';
import type { ProductionModule } from './production-modules.ts';

const format = 'https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/';
const licenceFile = /^(?:licen[cs]e|copying|notice|unlicense)(?:[._-].*)?$/i;

/** Returns the copyright file of the package: the licence of signetd, and those of all that it contains, in full. */
export function copyrightFile(project: string, modules: readonly ProductionModule[]): string {
  const stanzas = modules.map((module) => {
    const files = isRuntime(module) ? 'usr/lib/signetd/runtime/node' : `usr/lib/signetd/${module.path}/*`;
    const text = licenceTexts(project, module);
    return stanza(files, holders(text) ?? `the authors of ${module.name}`, shortName(module), text, module);
  });
  const header = [
    'Format: ' + format,
    'Upstream-Name: signetd',
    'Comment: Each file is listed with the licence of the package that it comes from.',
  ];
  const own = ['Files: *', 'Copyright: the authors of signetd', 'License: Apache-2.0'];
  const apache = [
    'License: Apache-2.0',
    ' On Debian systems, the text of the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.',
  ];
  return `${[header.join('\n'), own.join('\n'), ...stanzas, apache.join('\n')].join('\n\n')}\n`;
}

function stanza(files: string, copyright: string, short: string, text: string, { name, version }: ProductionModule): string {
  return [
    `Files: ${files}`,
    `Copyright: ${copyright}`,
    ...(short === 'Apache-2.0' ? ['License: Apache-2.0'] : [`License: ${short}`, indented(text)]),
    `Comment: npm package ${name} ${version}`,
  ].join('\n');
}

/** One name for each text: packages with the same licence have different holders in it. */
function shortName({ name, version, licence }: ProductionModule): string {
  if (licence === 'Apache-2.0') return licence;
  const known = licence.startsWith('SEE LICENSE') ? 'other' : licence.replaceAll(/[() ]+/g, '-').replaceAll(/-(?:AND|OR)-/g, '-and-');
  return `${known}-${name.replaceAll(/[@/]/g, '-').replace(/^-/, '')}-${version}`;
}

function licenceTexts(project: string, { path, licence }: ProductionModule): string {
  const directory = join(project, path);
  const files = readdirSync(directory)
    .filter((name) => licenceFile.test(name))
    .toSorted();
  if (files.length === 0) return `${licence}, as package.json of this package states it.`;
  return files.map((name) => readFileSync(join(directory, name), 'utf8').trim()).join('\n\n');
}

/** The lines of a text that name who holds the rights. */
function holders(text: string): string | undefined {
  const lines = text.split('\n').flatMap((line) => {
    const [, holder] = /^\W*(?:portions )?copyright\s+(?:notice\s+)?(?:\(c\)|©|\d{4})?\s*(.*\w.*)$/i.exec(line.trim()) ?? [];
    return holder === undefined || /notice|licen[cs]e|holder|owner/i.test(holder) ? [] : [line.trim().replaceAll(/^\W+/g, '')];
  });
  return lines.length === 0 ? undefined : [...new Set(lines)].slice(0, 20).join('\n ');
}

/** The text as a paragraph of a control file: each line begins with a space, empty ones have a dot. */
function indented(text: string): string {
  return text
    .replaceAll(/[^\S\n]+$/gm, '')
    .replaceAll('\t', '  ')
    .split('\n')
    .map((line) => (line.trim() === '' ? ' .' : ` ${line}`))
    .join('\n');
}
