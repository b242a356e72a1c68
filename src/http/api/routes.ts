import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem, sendProblem } from '../problem.ts';
import type { RequestServices } from './request-services.ts';

/**
 * Serves a request with the services that it began with. `item`: the decoded segment below a
 * collection.
 * @throws {Problem}
 */
export type Handler = (
  services: RequestServices,
  exchange: { readonly request: IncomingMessage; readonly response: ServerResponse },
  item: string,
) => Promise<void>;

/** The handlers of a path. */
export interface Route {
  /** By method, in the order in which `Allow` names them. */
  readonly methods: Readonly<Record<string, Handler>>;
  /** Message for other methods. */
  readonly otherMethods: string;
  /** The method whose body is a file; its requests have the time limit of uploads. */
  readonly uploadMethod?: string;
}

/**
 * Routes by path. A path that ends with a slash is a collection; its items are the segments below
 * it.
 */
export type RouteTable = Readonly<Record<string, Route>>;

interface FoundRoute {
  readonly route: Route;
  /** Still percent-encoded; empty if the route is not a collection. */
  readonly encodedItem: string;
}

/** The one table of paths of operations and files. */
export class Routes {
  readonly #routes: ReadonlyMap<string, Route>;

  constructor(table: RouteTable) {
    this.#routes = new Map(Object.entries(table));
  }

  find(url: string): FoundRoute | undefined {
    const query = url.indexOf('?');
    const path = query < 0 ? url : url.slice(0, query);
    const itemAt = path.lastIndexOf('/') + 1;
    const encodedItem = path.slice(itemAt);
    const route = this.#routes.get(path);
    // A collection itself, without an item, is not served.
    if (route !== undefined) return encodedItem === '' ? undefined : { route, encodedItem: '' };
    const collection = encodedItem === '' ? undefined : this.#routes.get(path.slice(0, itemAt));
    return collection === undefined ? undefined : { route: collection, encodedItem };
  }
}

/**
 * Calls the route's handler for the method, or answers 405.
 * @throws {Problem}
 * @throws {URIError} for a malformed item
 */
export async function serveRoute(
  { route, encodedItem }: FoundRoute,
  services: RequestServices,
  exchange: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> {
  const item = decodeURIComponent(encodedItem);
  const { methods, otherMethods } = route;
  const { method = '' } = exchange.request;
  const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (handler !== undefined) {
    await handler(services, exchange, item);
    return;
  }
  services.metrics?.problem(405);
  sendProblem(exchange.response, new Problem(405, otherMethods, { headers: { Allow: Object.keys(methods).join(', ') } }));
}
