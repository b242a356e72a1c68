import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { programOf } from '../../src/cli/program.ts';
import { bashCompletion } from '../completion/bash.ts';
import { fishCompletion } from '../completion/fish.ts';
import { zshCompletion } from '../completion/zsh.ts';
import { commandTree } from '../manual/command-tree.ts';
import { configurationPage } from '../manual/configuration-page.ts';
import { signetctlPage } from '../manual/signetctl-page.ts';
import { signetdPage } from '../manual/signetd-page.ts';
import { buildSite } from '../site/build-site.ts';

interface Release {
  readonly project: string;
  readonly root: string;
  /** Of signetd, such as 0.1.0. */
  readonly version: string;
  /** Of the package, such as 0.1.0-1. */
  readonly debianVersion: string;
  readonly epochSeconds: number;
  /** Who made it, as in a control file. */
  readonly maintainer: string;
}

/** Writes the documents, the changelogs, the manual pages and the completions of the shells. */
export async function writeDocumentation(release: Release): Promise<void> {
  await writeDocuments(release);
  writeManual(release);
  writeCompletions(release.root);
}

/** Writes the pages to a directory, with links to where they are there, and the files that they link to. */
export function writePages(project: string, place: string): void {
  mkdirSync(join(place, 'examples'), { recursive: true });
  const pages = readdirSync(join(project, 'docs')).filter((name) => name.endsWith('.md'));
  for (const page of ['README.md', ...pages.map((name) => `docs/${name}`)]) {
    const text = readFileSync(join(project, page), 'utf8');
    writeFileSync(join(place, packaged(page) ?? page), withPackagedLinks(text, page));
  }
  for (const name of readdirSync(join(project, 'docs'))) if (name.endsWith('.json')) cpSync(join(project, 'docs', name), join(place, name));
  cpSync(join(project, 'docs/examples'), join(place, 'examples'), { recursive: true });
  cpSync(join(project, 'docs/images'), join(place, 'images'), { recursive: true });
}

async function writeDocuments({ project, root, version, debianVersion, epochSeconds, maintainer }: Release): Promise<void> {
  const place = join(root, 'usr/share/doc/signetd');
  writePages(project, place);
  await buildSite(place, join(place, 'html'), version);
  for (const name of ['signetd.yaml', 'network.conf']) cpSync(join(project, 'packaging/deb', name), join(place, 'examples', name));
  cpSync(join(project, 'packaging/monitoring'), join(place, 'examples/monitoring'), { recursive: true });
  writeFileSync(join(place, 'changelog.gz'), compressed(readFileSync(join(project, 'CHANGELOG.md'), 'utf8')));
  const entry = [
    `signetd (${debianVersion}) unstable; urgency=medium`,
    '',
    '  * The changes are in changelog.gz.',
    '',
    ` -- ${maintainer}  ${new Date(epochSeconds * 1000).toUTCString().replace('GMT', '+0000')}`,
    '',
  ];
  writeFileSync(join(place, 'changelog.Debian.gz'), compressed(entry.join('\n')));
}

/** Files that have another name in the package, or another place. */
const renamed = new Map([
  ['README.md', 'README.md'],
  // README.md is that of the project.
  ['docs/README.md', 'index.md'],
  ['CHANGELOG.md', 'changelog.gz'],
  ['LICENSE', 'copyright'],
]);

/** Returns where a file of the project is among the documents; undefined if it is not there. */
function packaged(path: string): string | undefined {
  return renamed.get(path) ?? (path.startsWith('docs/') ? path.slice('docs/'.length) : undefined);
}

/** Leads the links of a page to where the files are in the package. Others are named as text. */
function withPackagedLinks(text: string, page: string): string {
  return text.replaceAll(/\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)/g, (link, name: string, target: string, anchor = '') => {
    if (/^[a-z]+:/.test(target)) return link;
    const path = posix.join(posix.dirname(page), target);
    const place = packaged(path);
    if (place === undefined) return `${name} (in the sources)`;
    return `[${name === path ? place : name}](${place}${anchor})`;
  });
}

function writeManual({ project, root, version, epochSeconds }: Release): void {
  const date = new Date(epochSeconds * 1000).toISOString().slice(0, 10);
  const schema: unknown = JSON.parse(readFileSync(join(project, 'docs/configuration.schema.json'), 'utf8'));
  const pages = {
    'man1/signetctl.1': signetctlPage(commandTree(programOf(() => undefined)), version, date),
    'man5/signetd.yaml.5': configurationPage(schema, version, date),
    'man8/signetd.8': signetdPage(version, date),
  };
  for (const [path, text] of Object.entries(pages)) write(join(root, 'usr/share/man'), `${path}.gz`, compressed(text));
}

function writeCompletions(root: string): void {
  const tree = commandTree(programOf(() => undefined));
  write(root, 'usr/share/bash-completion/completions/signetctl', bashCompletion(tree));
  write(root, 'usr/share/zsh/vendor-completions/_signetctl', zshCompletion(tree));
  write(root, 'usr/share/fish/vendor_completions.d/signetctl.fish', fishCompletion(tree));
}

function write(root: string, path: string, content: string | Buffer): void {
  const file = join(root, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, content);
}

/** As `gzip -9n`: neither a name nor a time. */
function compressed(text: string): Buffer {
  return gzipSync(text, { level: 9 });
}
