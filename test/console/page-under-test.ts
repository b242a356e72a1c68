import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Browser, Page } from 'playwright-core';
import type { History, Key, Overview, Sample, Service } from '../../src/console/page/answers.ts';
import { PageFiles } from '../../src/console/page-files.ts';
import { openPage, startBrowser } from '../support/browser.ts';

// The page as the build makes it: dist/console/page/console.js.
export const nowMs = Date.parse('2026-11-25T16:20:00.000Z');
export const ago = (seconds: number): string => new Date(nowMs - seconds * 1000).toISOString();
export const day = 86_400;

export const overview: Overview = {
  ...{ version: '1.2.3', now: ago(0), started: ago(2.5 * day), isReady: true, faults: {}, warnings: {} },
};
const emptySample: Omit<Sample, 'timeMs'> = {
  ...{ requestsPerSecond: null, errorsPerSecond: null, requestP50: null, requestP99: null, tokenP50: null, tokenP99: null },
  ...{ tokenWaiting: null, tokenReady: 1 },
};
export const service: Service = {
  ...{ operator: 'user 7', access: 'operate', signedInUntil: ago(-3600), pid: 321, api: 'https://[::]:8443', configuration: '/c.yaml' },
  ...{ notLoaded: [], lastReload: null, tenants: ['demo', 'other'], clients: 1234, state: 'SQLite' },
  audit: { enabled: true, writable: true, lastCheckpoint: ago(90), recordsSinceCheckpoint: 1 },
  token: {
    ...{ label: 'main', profile: 'softhsm', threads: 4, isReady: true, waiting: 1, waitingMax: 2000 },
    ...{ pool: { 'P-256': 12, 'RSA-2048': 3 }, keysLeft: [] },
  },
  limits: [
    { tenant: 'demo', client: null, requestsPerSecond: 1000, requestsBurst: 2000, requestsMax: 1024, connectionsMax: 2048 },
    { tenant: 'demo', client: '', requestsPerSecond: 100, requestsBurst: 200, requestsMax: 512, connectionsMax: 1024 },
    { tenant: 'demo', client: 'billing', requestsPerSecond: null, requestsBurst: null, requestsMax: 16, connectionsMax: 8 },
  ],
  ...{ ends: [], sessions: [] },
};
export const key = (digit: string, more: Partial<Key> = {}): Key => ({
  ...{ reference: digit.repeat(40), tenant: 'demo', type: 'P-256', protocol: 'PASSWORD_OTP', state: 'ACTIVE' },
  ...{ subject: `CN=Key ${digit},O=Example`, tokenId: digit.repeat(32), created: ago(day), notAfter: ago(-day) },
  ...{ remainingAttempts: 5, failuresSinceSuccess: 0, lockedUntil: null, ...more },
});
export const keys = [
  key('1'),
  key('2', { state: 'LOCKED', subject: 'O=Nobody', failuresSinceSuccess: 1, remainingAttempts: 1, lockedUntil: ago(-60) }),
  key('3', { state: 'ON_HOLD', subject: 'C=FR, CN=Comma\\, Inc', failuresSinceSuccess: 2 }),
];

export const samples: readonly Sample[] = [
  { ...emptySample, timeMs: nowMs - 600_000, tokenReady: 0 },
  { ...emptySample, timeMs: nowMs - 590_000, tokenReady: 0, requestsPerSecond: 0, tokenWaiting: 0 },
  {
    ...{ timeMs: nowMs - 400_000, requestsPerSecond: 12.34, errorsPerSecond: 0.456, requestP50: 0.00034, requestP99: 0.0123 },
    ...{ tokenP50: 0.0042, tokenP99: 1.84, tokenWaiting: 3, tokenReady: 1 },
  },
  { ...emptySample, timeMs: nowMs - 200_000 },
  { ...emptySample, timeMs: nowMs - 195_000, requestsPerSecond: 150.6, errorsPerSecond: 0, tokenWaiting: 120 },
  { ...emptySample, timeMs: nowMs - 10_000, requestsPerSecond: 2, requestP50: 0, tokenP99: 0.25 },
];

/** The page of the console in a browser, and a service that answers what it is told. */
export class PageUnderTest {
  /** What the page has asked for. */
  readonly asked: string[] = [];
  /** Of an operator who has signed in. */
  readonly page: Page;
  /** What the service answers to a path: a body, perhaps with a status. */
  answers: Readonly<Record<string, unknown>> = {};
  url = '';
  readonly #browser: Browser;
  readonly #server: Server;

  private constructor(browser: Browser, page: Page) {
    this.#browser = browser;
    this.page = page;
    const files = new PageFiles();
    const application = express();
    application.get('/console/', (_request, response) => files.send(response, ''));
    application.use('/console/api', (request, response) => {
      const code = request.get('X-Console-Code');
      const who = request.get('X-Console-Token') ?? 'nobody';
      this.asked.push([request.method, request.url, ...(code === undefined ? [] : [`code ${code}`]), who].join(' '));
      const { status = 200, ...body } = (this.answers[request.path] ?? { status: 404 }) as { readonly status?: number };
      response.status(status).json(body);
    });
    application.get('/console/:file', (request, response) => files.send(response, request.params.file));
    this.#server = createServer(application);
  }

  static async start(): Promise<PageUnderTest> {
    const browser = await startBrowser();
    const made = new PageUnderTest(browser, await newPage(browser));
    await new Promise<void>((resolve) => made.#server.listen(0, '127.0.0.1', resolve));
    made.url = `http://127.0.0.1:${(made.#server.address() as AddressInfo).port}`;
    await made.view('#code=abc_-1', 'No session is open');
    // It would ask again and again while others are looked at.
    await made.page.goto('about:blank');
    return made;
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    this.#server.close();
  }

  /** A page of nobody who has signed in. */
  async newPage(): Promise<Page> {
    return newPage(this.#browser);
  }

  /** Opens a view with these answers beside the usual ones. `shows`: a text that it has in the end. */
  async view(hash: string, shows: string, more: Readonly<Record<string, unknown>> = {}, at = this.page): Promise<void> {
    await at.goto('about:blank');
    const history: History = { intervalSeconds: 5, spanSeconds: 3600, samples: [] };
    const usual = { '/overview': overview, '/history': history, '/service': service, '/sign-in': { token: 'token' }, '/sign-out': {} };
    this.answers = { ...usual, ...more };
    this.asked.length = 0;
    await at.goto(`${this.url}/console/${hash}`);
    await at.getByText(shows).first().waitFor();
  }

  /** Gives other answers from now on. */
  answer(more: Readonly<Record<string, unknown>>): void {
    this.answers = { ...this.answers, ...more };
  }

  /** The last request about keys. */
  get lastAsked(): string | undefined {
    return this.asked.findLast((one) => one.includes('/keys'));
  }

  /** Navigation and content as HTML, an element a line. */
  async shown(at = this.page): Promise<string> {
    const html = await at.evaluate(
      "document.title + '\\n' + document.querySelector('nav').outerHTML + document.querySelector('main').outerHTML",
    );
    return `${String(html).replaceAll('><', '>\n<')}\n`;
  }
}

/** A page of its own, which waits for as long as a busy machine needs. */
async function newPage(browser: Browser): Promise<Page> {
  const { page } = await openPage(browser);
  page.setDefaultTimeout(100_000);
  return page;
}
