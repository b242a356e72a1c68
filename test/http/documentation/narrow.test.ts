import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { description } from '../../support/api.ts';
import { noBrowser, openPage, startBrowser } from '../../support/browser.ts';
import { skipNote } from '../../support/skip-note.ts';

/** Elements that reach over the right edge and that nothing around them cuts off or scrolls. */
const over = `[...document.querySelectorAll('body *')]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5)
  .filter((one) => {
    for (let at = one.parentElement; at !== document.body && at !== null; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== 'visible') return false;
    return true;
  })
  .map((one) => one.outerHTML.slice(0, 120))
  .slice(0, 5)`;
let browser: Browser;

describe.skipIf(noBrowser !== undefined)(`/docs in a narrow browser${skipNote(noBrowser)}`, () => {
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser.close();
  });

  it.each([320, 420, 900, 1280])('is not wider than a window of %i pixels, folded or open', async (width) => {
    const { page } = await openPage(browser, width);
    await page.goto(`${description.opsUrl}/docs`);
    const isWider = async (): Promise<unknown> =>
      page.evaluate(`({ over: ${over}, by: Math.max(0, document.documentElement.scrollWidth - innerWidth) })`);
    expect(await isWider()).toEqual({ over: [], by: 0 });
    await page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true');
    expect(await isWider()).toEqual({ over: [], by: 0 });
    await page.context().close();
  });
});
