import { expect, it } from 'vitest';
import { newCertificate, OwnService } from '../support/own-service.ts';
import { skipNote } from '../support/skip-note.ts';
import { noBrowser, openPage, startBrowser } from '../support/browser.ts';
import { consoleLink } from './console-request.ts';
import { setConsole } from './console-setting.ts';

it.skipIf(noBrowser !== undefined)(
  `a page of the console unlocks nothing under console: read, says when signetd is gone, and is signed out by a restart${skipNote(noBrowser)}`,
  async () => {
    const service = await OwnService.start((environment) => {
      setConsole(environment, 'read');
    });
    const browser = await startBrowser();
    const { page, errors } = await openPage(browser);
    try {
      await service.post('pki/createCertificate', newCertificate());
      await page.goto(await consoleLink(service.description.configFile));
      await page.getByRole('button', { name: 'Sign out' }).waitFor();
      await page.goto(`${service.opsUrl}/console/#keys`);
      await page.locator('tbody a').first().click();
      await page.getByText('The configuration lets the console unlock no keys').waitFor();
      await page.goto(`${service.opsUrl}/console/#overview`);
      await service.daemon.kill();
      await page.getByRole('heading', { name: 'No answer' }).waitFor();
      await service.daemon.start();
      // A restart has signed everybody out.
      await page.getByRole('heading', { name: 'Sign in to see more' }).waitFor();
      expect(errors).toEqual([]);
    } finally {
      await browser.close();
      await service.remove();
    }
  },
);
