import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';
import { Problem, sendProblem } from '../problem.ts';
import { pageSender, send } from '../send.ts';
import type { DocumentedLimits } from './components.ts';
import { describeInterface, type DocumentedPaths } from './openapi.ts';
import { documentationPage } from './page.ts';
import type { PageLimits } from './reference-sections.ts';

type Limits = DocumentedLimits & PageLimits;
type Sender = (response: ServerResponse) => void;

/** Who may read the documentation, and the limits in force. */
interface Reading {
  readonly limits: Limits;
  /** @throws {Problem} */
  readonly check: (request: IncomingMessage) => Promise<void>;
}

/** `/openapi.json` and `/docs`. Both state the limits in force. */
export function mountDocumentation(app: Express, paths: DocumentedPaths, current: () => Reading): void {
  const made = new WeakMap<Limits, Readonly<Record<string, Sender>>>();
  const sendersOf = (limits: Limits): Readonly<Record<string, Sender>> => {
    const known = made.get(limits);
    if (known !== undefined) return known;
    const senders = documentSenders(paths, limits);
    made.set(limits, senders);
    return senders;
  };
  for (const path of ['/openapi.json', '/docs']) {
    app
      .route(path)
      .get(async (request, response) => {
        const { limits, check } = current();
        await check(request);
        sendersOf(limits)[path]?.(response);
      })
      .all((_request, response) => {
        sendProblem(response, new Problem(405, 'only GET and HEAD are supported', { headers: { Allow: 'GET, HEAD' } }));
      });
  }
}

function documentSenders(paths: DocumentedPaths, limits: Limits): Readonly<Record<string, Sender>> {
  const documentation = describeInterface(paths, limits);
  const json = JSON.stringify(documentation.document);
  const page = documentationPage(documentation, limits);
  const sendPage = pageSender({ style: contentHash(page, 'style'), script: contentHash(page, 'script') });
  return {
    '/openapi.json': (response) => {
      send(response, 200, 'application/json', json);
    },
    '/docs': (response) => {
      sendPage(response, page);
    },
  };
}

/** Returns the name of an element's content in Content-Security-Policy (CSP Level 3 §2.3.1). */
function contentHash(page: string, element: 'style' | 'script'): string {
  const start = page.indexOf(`<${element}>`) + element.length + 2;
  const content = page.slice(start, page.indexOf(`</${element}>`, start));
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}
