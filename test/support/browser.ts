import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';

const paths = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = paths.find((path) => existsSync(path));

/** Why tests in a browser cannot run; undefined if they can. */
export const noBrowser = executablePath === undefined ? 'Chromium is not installed (Debian package chromium)' : undefined;

/** Starts the machine's Chromium without a window. */
export async function startBrowser(): Promise<Browser> {
  if (executablePath === undefined) throw new Error(noBrowser);
  // As root, Chromium has no sandbox; it shows only the pages of the test's own service.
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

/** Opens a page, and collects the errors of its scripts and of its content security policy. */
export async function openPage(browser: Browser, width = 1280): Promise<{ page: Page; errors: string[] }> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content Security Policy|Trusted/i.test(message.text())) errors.push(message.text());
  });
  return { page, errors };
}

/** Returns the violations that axe finds on a page, each as one line: of all its rules, in light and in dark. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // As an expression, since the page's Trusted Types allow no eval.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe.source);
  const faults: string[] = [];
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    // What colours do not change is looked at once.
    const options = colorScheme === 'dark' ? "{ runOnly: ['color-contrast'] }" : '{}';
    const found: unknown = await page.evaluate(
      `axe.run(${options}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
    );
    faults.push(...(Array.isArray(found) ? found.map((fault) => `${colorScheme}: ${String(fault)}`) : ['axe did not run']));
  }
  return faults;
}
