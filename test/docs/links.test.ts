import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

const pages = [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
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

it.each(pages)('every link of %s leads to a file and to a heading in it', (page) => {
  const targets = Array.from(proseOf(page).matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target).filter(
    (target) => !/^https?:/.test(target),
  );
  const broken = targets.filter((target) => {
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : normalize(join(dirname(page), path));
    return !existsSync(file) || (anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).includes(anchor));
  });
  expect(broken).toEqual([]);
});
