import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writePages } from '../../packaging/deb/documentation.ts';
import { buildSite } from '../../packaging/site/build-site.ts';
import { accessibilityFaults, noBrowser, openPage, startBrowser } from '../support/browser.ts';
import { skipNote } from '../support/skip-note.ts';

/** The pages as a site, read from a directory as an operator does. */
const directory = mkdtempSync(join(tmpdir(), 'signetd-site-'));
const site = join(directory, 'html');
const files = (): string[] => readdirSync(site).filter((name) => name.endsWith('.html'));
const textOf = (name: string): string => readFileSync(join(site, name), 'utf8');

beforeAll(async () => {
  writePages('.', directory);
  await buildSite(directory, site, '1.2.3');
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

describe('the site of the documents', () => {
  it('has every page, and its links lead to files and headings that are there', () => {
    const names = files();
    for (const name of readdirSync('docs').filter((page) => page.endsWith('.md') && page !== 'README.md'))
      expect(names).toContain(name.replace(/md$/, 'html'));
    const broken = names.flatMap((name) =>
      Array.from(textOf(name).matchAll(/(?:href|src)="(?!https?:)([^"#]*)(?:#([^"]*))?"/g), ([, path = '', anchor]) => ({
        name,
        path,
        anchor,
      }))
        .filter(({ path, anchor }) => {
          // Of the package, not of the project.
          if (['../copyright', '../changelog.gz'].includes(path)) return false;
          const target = path === '' ? name : path;
          if (!statSync(join(site, target), { throwIfNoEntry: false })?.isFile()) return true;
          return anchor !== undefined && target.endsWith('.html') && !textOf(target).includes(`id="${decodeURIComponent(anchor)}"`);
        })
        .map(({ path, anchor }) => `${name}: ${path}#${anchor}`),
    );
    expect(broken).toEqual([]);
  });

  it('loads nothing from elsewhere, and shows braces and marks of pages as they are', () => {
    for (const name of files()) expect(textOf(name), name).not.toMatch(/(?:src|href)="(?:https?:)?\/\/[^"]*\.(?:css|js)"/);
    expect(files().some((name) => textOf(name).includes('&lt;path&gt;'))).toBe(true);
  });

  it('is made again with the same bytes', async () => {
    const again = join(directory, 'again');
    await buildSite(directory, again, '1.2.3');
    for (const name of readdirSync(site).filter((one) => one !== 'images'))
      expect(readFileSync(join(again, name)).equals(readFileSync(join(site, name))), name).toBe(true);
  });

  it.skipIf(noBrowser !== undefined)(`finds what an operator looks for, without a server${skipNote(noBrowser)}`, async () => {
    const browser = await startBrowser();
    try {
      const { page, errors } = await openPage(browser);
      const first = async (words: string): Promise<string | null> => {
        await page.goto(pathToFileURL(join(site, 'index.html')).href);
        await page.getByRole('searchbox').fill(words);
        await page.getByRole('button', { name: 'Search' }).click();
        await page.locator('.outcome').filter({ hasText: words }).waitFor();
        return page
          .locator('.results a')
          .first()
          .getAttribute('href', { timeout: 2000 })
          .catch(() => null);
      };
      expect(await first('revoke client')).toBe('signetctl.html#signetctl-client-revoke-client');
      expect(await first('lost PIN')).toMatch(/^lost-pin\.html/);
      expect(await first('syslog')).toMatch(/^audit\.html/);
      expect(await first('revoke client (1+1) [x] \\')).toBeNull();
      expect(await first('<img src=x onerror=alert(1)>')).toBeDefined();
      expect(errors).toEqual([]);
      expect(await accessibilityFaults(page)).toEqual([]);
      await page.goto(pathToFileURL(join(site, 'installation.html')).href);
      expect(await accessibilityFaults(page)).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
