import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

/** Semantic version of the interface (contract §10). */
export const apiVersion = '1.0.0';

/**
 * The headers of every answer of the API: helmet's, for an interface that shows no pages, and our own. Worked out once, since they never change
 * and setting a dozen headers one by one costs more than parsing the request.
 */
const fixedHeaders: readonly string[] = (() => {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const nothing = ["'none'"];
  helmet({ contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: nothing, frameAncestors: nothing } } })(
    request,
    response,
    () => undefined,
  );
  response.setHeader('X-API-Version', apiVersion).setHeader('Cache-Control', 'no-store');
  return Object.entries(response.getHeaders()).flatMap(([name, value]) => [name, String(value)]);
})();

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
  response.writeHead(status, [...fixedHeaders, 'Content-Type', mediaType, 'Content-Length', length, ...more]).end(body);
}
