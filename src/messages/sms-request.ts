import { fillTemplate, parseTemplate, type TemplatePart } from '../config/message-template.ts';
import { placeholdersIn, splitUrl, type SmsConfig } from '../config/sms-config.ts';

/** Request to the gateway. */
export interface SmsRequest {
  readonly method: SmsConfig['method'];
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Values of the placeholders, by name. */
export type PlaceholderValues = ReadonlyMap<string, string>;

type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json };

/**
 * The configured request, parsed once. Each value is encoded for its place: percent-encoded in a
 * path or query, as a form field, or as a JSON string written by `JSON.stringify`. Headers allow
 * only visible ASCII.
 */
export class SmsRequestTemplate {
  readonly #method: SmsConfig['method'];
  readonly #origin: string;
  readonly #path: readonly TemplatePart[];
  readonly #query: readonly TemplatePart[];
  readonly #headers: readonly (readonly [name: string, value: readonly TemplatePart[]])[];
  readonly #body: ((values: PlaceholderValues) => string) | undefined;

  constructor({ method, url, headers, body }: Pick<SmsConfig, 'method' | 'url' | 'headers' | 'body'>) {
    const split = splitUrl(url);
    if (split === undefined) throw new Error('this URL should have been checked with the configuration');
    this.#method = method;
    this.#origin = new URL(split.origin).origin;
    this.#path = parseTemplate(split.path, placeholdersIn.path);
    this.#query = parseTemplate(split.query, placeholdersIn.query);
    const type = body?.form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
    const contentType = body === undefined ? {} : { 'Content-Type': type };
    this.#headers = Object.entries({ ...headers, ...contentType }).map(([name, value]) => [
      name,
      parseTemplate(value, placeholdersIn.header),
    ]);
    this.#body = body === undefined ? undefined : body.form === undefined ? jsonBody(body.json ?? null) : formBody(body.form);
  }

  /** The part of the URL that may be shown: scheme, host and path as configured. */
  get shownUrl(): string {
    return `${this.#origin}${this.#path.map((part) => (typeof part === 'string' ? part : `{${part.placeholder}}`)).join('')}`;
  }

  /** @throws {RangeError} if a value is not allowed in its place */
  requestFor(values: PlaceholderValues): SmsRequest {
    const query = fillTemplate(this.#query, values, percentEncoded);
    const path = fillTemplate(this.#path, values, pathEncoded);
    const url = new URL(`${this.#origin}${path}${query === '' ? '' : `?${query}`}`);
    if (url.origin !== this.#origin) throw new RangeError('the URL would have another origin');
    const headers = Object.fromEntries(this.#headers.map(([name, value]) => [name, fillTemplate(value, values, headerValue)]));
    return { method: this.#method, url, headers, body: this.#body?.(values) };
  }
}

/** Encodes everything except unreserved characters (RFC 3986). */
function percentEncoded(value: string): string {
  return encodeURIComponent(value).replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/**
 * Encodes a path segment. One of dots, even percent-encoded, would refer to a parent (WHATWG URL).
 */
function pathEncoded(value: string): string {
  if (/^\.*$/.test(value)) throw new RangeError('a path segment must not be empty or consist of dots');
  return percentEncoded(value);
}

/** Checks a header value (RFC 9110 §5.5): only visible ASCII and spaces. */
function headerValue(value: string): string {
  if (!/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value))
    throw new RangeError('a header may contain only visible ASCII characters and spaces');
  return value;
}

function formBody(form: Readonly<Record<string, string>>): (values: PlaceholderValues) => string {
  const fields = Object.entries(form).map(([name, value]): [string, TemplatePart[]] => [name, parseTemplate(value, placeholdersIn.body)]);
  return (values) => new URLSearchParams(fields.map(([name, value]): [string, string] => [name, fillTemplate(value, values)])).toString();
}

function jsonBody(json: Json): (values: PlaceholderValues) => string {
  const filled = jsonFiller(json);
  return (values) => JSON.stringify(filled(values));
}

function jsonFiller(json: Json): (values: PlaceholderValues) => Json {
  if (typeof json === 'string') {
    const parts = parseTemplate(json, placeholdersIn.body);
    return (values) => fillTemplate(parts, values);
  }
  if (typeof json !== 'object' || json === null) return () => json;
  if (isList(json)) {
    const fillers = json.map(jsonFiller);
    return (values) => fillers.map((filler) => filler(values));
  }
  const members = Object.entries(json).map(([name, value]) => ({ name, filler: jsonFiller(value) }));
  return (values) => Object.fromEntries(members.map(({ name, filler }) => [name, filler(values)]));
}

function isList<T>(value: readonly T[] | object): value is readonly T[] {
  return Array.isArray(value);
}
