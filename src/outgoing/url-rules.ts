/**
 * Thrown for a URL that is not allowed. `scheme`: unsupported; `host`: not allowed by the
 * configuration.
 */
export class UrlRefused extends Error {
  readonly reason: 'scheme' | 'host';

  constructor(reason: 'scheme' | 'host', message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * Parses a URL. Only http and https are allowed, without credentials, which would end up in logs
 * and proxies.
 * @throws {UrlRefused} with reason `scheme`
 */
export function httpUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new UrlRefused('scheme', 'not an http or https URL');
  if (url.username !== '' || url.password !== '') throw new UrlRefused('scheme', 'the URL contains a user name or a password');
  return url;
}

/** Says why a server that a certificate names is not asked. */
export function notVouchedFor({ host }: Pick<URL, 'host'>): string {
  return `no configured authority vouches for the certificate (revocation.anchors), and callers may not name the host ${host} (outgoing.clientHosts of the configuration)`;
}

/** Returns the port to which a URL leads. */
export function portOf({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

/** Checks whether `httpUrl` accepts a text. */
export function isHttpUrl(text: string): boolean {
  try {
    httpUrl(text);
    return true;
  } catch (error) {
    if (error instanceof UrlRefused) return false;
    throw error;
  }
}

/**
 * A list of host names, each with an optional port; `*.example.org` matches all hosts below a
 * domain, `*.example.org:8080` only that port of them.
 */
export class HostList {
  readonly #exact = new Set<string>();
  readonly #domains: string[] = [];

  constructor(hosts: readonly string[]) {
    for (const host of hosts.map((text) => text.toLowerCase())) {
      if (host.startsWith('*.')) this.#domains.push(host.slice(1));
      else this.#exact.add(host);
    }
  }

  has(url: URL): boolean {
    const host = url.hostname.toLowerCase().replace(/\.$/, '');
    const withPort = `${host}:${portOf(url)}`;
    return (
      this.#exact.has(host) ||
      this.#exact.has(withPort) ||
      this.#domains.some((domain) => host.endsWith(domain) || withPort.endsWith(domain))
    );
  }
}
