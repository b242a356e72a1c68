import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { startBrowser } from '../test/support/browser.ts';
import { quickstartEnvironment } from '../test/support/quickstart-environment.ts';

/**
 * Makes the picture of docs/console.md: the overview of a quickstart that has signed for five minutes. It needs Chromium
 * (Debian package chromium).
 */
const shownMinutes = 5;
const names = ['Camille Martin', 'Noé Lefèvre', 'Agnès Roux', 'Ines Moreau'];

const environment = quickstartEnvironment();
try {
  environment.start();
  const { baseUrl, clients, caCertificate, configFile } = environment.description();
  const files = clients['other'];
  if (files === undefined) throw new Error('the quickstart has the client other');
  const [ca, cert, key] = [caCertificate, files.certificate, files.key].map((file) => readFileSync(file));
  const agent = new Agent({ keepAlive: true, ca, cert, key });

  const post = async (operation: string, body: object): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const options = { agent, method: 'POST', headers: { 'Content-Type': 'application/json' } };
      const sent = request(`${baseUrl}/sign/${operation}`, options, (response) => {
        response.setEncoding('utf8');
        let text = '';
        response.on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          resolve(JSON.parse(text));
        });
      });
      sent.on('error', reject);
      sent.end(JSON.stringify(body));
    });

  const Created = z.object({ keyReference: z.object({ reference: z.string(), password: z.string() }) });
  const newKey = async (commonName: string): Promise<z.output<typeof Created>['keyReference']> => {
    const PKCS10 = { attributes: { subscriber: {} }, subject: { country: 'FR', commonName } };
    const asked = { certificationRequestInfo: { signatureActivationProtocol: 'PASSWORD', PKCS10 }, certificateFormat: 'CERTIFICATE' };
    return Created.parse(await post('pki/createCertificate', asked)).keyReference;
  };
  const keys = await Promise.all(names.map(newKey));

  // Its password is never right, so that it is locked after a few attempts.
  const locked = await newKey('Noah Petit');

  /** Signs, and fails now and then. */
  const signOnce = async (round: number): Promise<void> => {
    const isWrong = round % 23 === 0;
    const { reference = '', password = '' } = (isWrong ? locked : keys[round % keys.length]) ?? {};
    const keyReference = { reference, password: isWrong ? 'wrong' : password };
    const inputDocuments = [{ ID: 'd', base64Data: { base64Value: Buffer.from(`document ${round}`).toString('base64') } }];
    await post('signature/sign', { keyReference, parameters: { rawSignature: {} }, inputDocuments });
  };
  const endMs = Date.now() + shownMinutes * 60_000;
  for (let round = 1; Date.now() < endMs; round += 1) {
    const atOnce = 1 + Math.round(4 + 4 * Math.sin(round / 90));
    await Promise.all(Array.from({ length: atOnce }, async (_, index) => signOnce(round * 10 + index)));
    await delay(120 + (round % 7) * 40);
  }

  const printed = execFileSync(process.execPath, ['--disable-sigusr1', 'dist/cli.js', '--config', configFile, '--json', 'console'], {
    encoding: 'utf8',
  });
  const { url } = z.object({ url: z.string() }).parse(JSON.parse(printed));
  const browser = await startBrowser();
  const page = await browser.newPage({ viewport: { width: 1240, height: 742 } });
  await page.goto(url);
  await page.getByRole('heading', { name: 'Token', exact: true }).waitFor();
  const path = fileURLToPath(new URL('images/console/overview.png', import.meta.url));
  await page.screenshot({ path });
  await browser.close();
  agent.destroy();
  process.stdout.write('docs/images/console/overview.png\n');
} finally {
  environment.remove();
}
