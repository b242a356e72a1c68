import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { runsFromSources } from '../config/module-file.ts';
import { Problem } from '../http/problem.ts';

const mediaTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The page's modules: it imports each of them by this name. */
const modules = ['audit', 'configuration', 'console', 'element', 'graph', 'keys', 'overview', 'service', 'session', 'wording'];
const styles = ['console', 'overview', 'content', 'narrow'];
const files = ['index.html', 'icon.svg', ...styles.map((name) => `${name}.css`), ...modules.map((name) => `${name}.js`)];

/**
 * Nothing but our own files, no markup made of text (Trusted Types), in nobody's frame; kept by no
 * cache (CSP Level 3).
 */
const headers = {
  'Content-Security-Policy': [
    ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
    ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"],
  ].join('; '),
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
};

/** The files of the page, read once. */
export class PageFiles {
  readonly #contents: ReadonlyMap<string, Buffer>;

  /** @throws {Error} if a file of the installation is missing */
  constructor() {
    // The browser needs what the build makes of the sources.
    const directory = new URL(runsFromSources ? '../../dist/console/page/' : './page/', import.meta.url);
    this.#contents = new Map(files.map((name) => [name, readFileSync(new URL(name, directory))]));
  }

  /** Sends a file. `name`: empty for the page itself. @throws {Problem} 404 */
  send(response: ServerResponse, name: string): void {
    const file = name === '' ? 'index.html' : name;
    const content = this.#contents.get(file);
    if (content === undefined) throw new Problem(404, 'the console has no such file');
    const mediaType = mediaTypes[file.slice(file.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
    for (const [header, value] of Object.entries({ ...headers, 'Content-Type': mediaType })) response.setHeader(header, value);
    response.end(content);
  }
}
