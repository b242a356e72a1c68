import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

const pages = [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync('clients').map((name) => `clients/${name}/README.md`),
];

/** The text of a page without its blocks of code. */
function proseOf(page: string): string {
  return readFileSync(page, 'utf8').replace(/^```.*?^```$/gms, '');
}

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(page: string): string[] {
  return Array.from(proseOf(page).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Paths of the files that the links of a page lead to, each with the anchor, if any. */
function targetsOf(page: string): { readonly target: string; readonly file: string; readonly anchor: string | undefined }[] {
  return Array.from(proseOf(page).matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target)
    .filter((target) => !/^https?:/.test(target))
    .map((target) => {
      const [path = '', anchor] = target.split('#');
      return { target, file: path === '' ? page : normalize(join(dirname(page), path)), anchor };
    });
}

it.each(pages)('every link of %s leads to a file and to a heading in it', (page) => {
  const broken = targetsOf(page).filter(
    ({ file, anchor }) => !existsSync(file) || (anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).includes(anchor)),
  );
  expect(broken.map(({ target }) => target)).toEqual([]);
});

it('docs/README.md leads to every page of docs/ and clients/', () => {
  const listed = new Set(targetsOf('docs/README.md').map(({ file }) => file));
  const wanted = pages.filter((page) => /^(?:docs|clients)\//.test(page) && page !== 'docs/README.md');
  expect(wanted.filter((page) => !listed.has(page))).toEqual([]);
});
