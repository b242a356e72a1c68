import type { Config } from '../config/config.ts';

const hidden = '(hidden)';
/** Members whose values are, or may hold, secrets. */
const secretName = /pass(?:word|phrase)|secret|credential|authorization|^pin$|api-?key|(?:^|[-_])token$/i;
/** A gateway's templates: callers' operators write keys of the gateway into them. */
const templates = ['headers', 'body'];

/**
 * Returns the configuration for people to read. It holds references to secrets, not the secrets;
 * but a template of a gateway or a URL can hold one, and is hidden where it may.
 */
export function configurationView(config: Config): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(config).map(([name, value]) => [name, shown(name, value)]));
}

function shown(name: string, value: unknown): unknown {
  if (templates.includes(name)) return allHidden(value);
  if (typeof value === 'string') return isReference(value) ? value : secretName.test(name) ? hidden : withoutUrlSecrets(value);
  if (Array.isArray(value)) return value.map((item: unknown) => shown(name, item));
  if (typeof value !== 'object' || value === null) return value;
  // Environment variables of a vendor's module: some take a PIN.
  if (name === 'environment') return allHidden(value);
  const isSecrets = name === 'secrets';
  return Object.fromEntries(
    Object.entries(value).map(([member, of]) => [member, isSecrets ? allHiddenButReferences(of) : shown(member, of)]),
  );
}

function isReference(value: string): boolean {
  return /^(?:file|credential):/.test(value);
}

function allHiddenButReferences(value: unknown): unknown {
  return typeof value === 'string' && isReference(value) ? value : allHidden(value);
}

/** Keeps the names and hides the values. */
function allHidden(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(allHidden);
  if (typeof value !== 'object' || value === null) return hidden;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, allHidden(of)]));
}

/** Hides user name and password, and the query, of a URL. */
function withoutUrlSecrets(text: string): string {
  const [, scheme, , rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/)([^/@?#]*@)?(.*)$/is.exec(text) ?? [];
  if (scheme === undefined) return text;
  const [place = '', query] = rest.split('?', 2);
  return `${scheme}${text.startsWith(`${scheme}${rest}`) ? '' : `${hidden}@`}${place}${query === undefined ? '' : `?${hidden}`}`;
}
