import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { description } from '../support/api.ts';
import { skipNote } from '../support/skip-note.ts';
import { accessibilityFaults, noBrowser, openPage, startBrowser } from '../support/browser.ts';
import { consoleLink } from './console-request.ts';
import { lockedKey, namedKey } from './named-key.ts';

const { opsUrl, configFile } = description;
const pages = ['overview', 'keys', 'audit', 'configuration'];
let browser: Browser;

async function signedInPage(width = 1280): Promise<{ page: Page; errors: string[] }> {
  const opened = await openPage(browser, width);
  await opened.page.goto(await consoleLink(configFile));
  await opened.page.getByRole('heading', { name: 'Open sessions' }).waitFor();
  return opened;
}

describe.skipIf(noBrowser !== undefined)(`the page of the console in a browser${skipNote(noBrowser)}`, () => {
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser.close();
  });

  it('has no fault that axe finds in light and dark, and breaks no policy', async () => {
    const reference = await lockedKey('Axe');
    const { page, errors } = await openPage(browser);
    await page.goto(`${opsUrl}/console/`);
    await page.getByRole('heading', { name: 'Sign in to see more' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.goto(await consoleLink(configFile));
    await page.getByRole('heading', { name: 'Open sessions' }).waitFor();
    expect(page.url()).not.toContain('code=');
    for (const name of [...pages, `keys/${reference}`]) {
      await page.goto(`${opsUrl}/console/#${name}`);
      await page.locator('main .card').first().waitFor();
      await page.getByText('Searching …').waitFor({ state: 'detached' });
      expect(await accessibilityFaults(page)).toEqual([]);
    }
    await page.getByRole('button', { name: 'Unlock …' }).click();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('finds and unlocks a key by keyboard alone', async () => {
    const name = `Ada ${Date.now()}`;
    const reference = await lockedKey(name);
    const { page } = await signedInPage();
    const focused = async (): Promise<string> =>
      page.evaluate("document.activeElement?.id || document.activeElement?.textContent || document.activeElement?.tagName || ''");
    const tabTo = async (wanted: string): Promise<void> => {
      for (let presses = 0; presses < 30 && (await focused()) !== wanted; presses += 1) await page.keyboard.press('Tab');
      expect(await focused()).toBe(wanted);
    };
    await tabTo('Keys');
    await page.keyboard.press('Enter');
    await page.getByRole('search').waitFor();
    await tabTo('key-text');
    await page.keyboard.type(name);
    await page.keyboard.press('Enter');
    await page.getByText('1 key.').waitFor();
    await tabTo(name);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name }).waitFor();
    await tabTo('Unlock …');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    expect(await focused()).toBe('Cancel');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await focused()).toBe('Unlock …');
    await page.keyboard.press('Enter');
    await tabTo('Unlock');
    await page.keyboard.press('Enter');
    await page.getByText('Unlocked. The state of the key is ACTIVE.').waitFor();
    expect(page.url()).toContain(reference);
    await page.context().close();
  });

  it('shows names as text, whatever they contain', async () => {
    const name = '<img src=x onerror="document.title=1">';
    await lockedKey(name);
    const { page, errors } = await signedInPage();
    await page.goto(`${opsUrl}/console/#keys`);
    await page.getByLabel('Name or beginning of the reference').fill('<img src');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name }).first().click();
    await page.getByRole('heading', { name }).waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('needs no horizontal scrolling on a narrow screen', async () => {
    const reference = await namedKey('W'.repeat(64));
    const { page } = await signedInPage(320);
    for (const name of [...pages, `keys/${reference}`]) {
      await page.goto(`${opsUrl}/console/#${name}`);
      await page.locator('main .card').first().waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0);
    }
    await page.context().close();
  });

  it('says that a link was used already', async () => {
    const link = await consoleLink(configFile);
    const first = await openPage(browser);
    await first.page.goto(link);
    await first.page.getByRole('button', { name: 'Sign out' }).waitFor();
    const second = await openPage(browser);
    await second.page.goto(link);
    await second.page.getByText('This link was used already').waitFor();
    await first.page.getByRole('button', { name: 'Sign out' }).click();
    await first.page.getByRole('heading', { name: 'Sign in to see more' }).waitFor();
    await Promise.all([first.page.context().close(), second.page.context().close()]);
  });
});
