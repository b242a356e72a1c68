import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

/** Semantic version of the interface (contract §10). */
export const apiVersion = '1.0.0';

const nothing = ["'none'"];

/**
 * The headers of every answer: helmet's and our own. Worked out once, since they never change and setting a dozen headers one by one costs more
 * than parsing the request.
 */
function fixedHeaders(styleSrc: readonly string[]): readonly string[] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const directives = { defaultSrc: nothing, frameAncestors: nothing, ...(styleSrc.length === 0 ? {} : { styleSrc }) };
  helmet({ contentSecurityPolicy: { useDefaults: false, directives } })(request, response, () => undefined);
  response.setHeader('X-API-Version', apiVersion).setHeader('Cache-Control', 'no-store');
  return Object.entries(response.getHeaders()).flatMap(([name, value]) => [name, String(value)]);
}

/** An interface shows no pages. */
const interfaceHeaders = fixedHeaders([]);

/** A page with one style sheet in it, named by its hash (CSP Level 3 §2.3.1). */
export function pageSender(styleHash: string): (response: ServerResponse, page: string) => void {
  const headers = fixedHeaders([styleHash]);
  return (response, page) => {
    const length = String(Buffer.byteLength(page));
    response.writeHead(200, [...headers, 'Content-Type', 'text/html; charset=utf-8', 'Content-Length', length]).end(page);
  };
}

/** Sends a whole answer: status, type, further headers, body. */
export function send(
  response: ServerResponse,
  status: number,
  mediaType: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const more = Object.entries(headers).flat();
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, [...interfaceHeaders, 'Content-Type', mediaType, 'Content-Length', length, ...more]).end(body);
}
