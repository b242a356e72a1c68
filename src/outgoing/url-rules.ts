/**
 * Why a URL is not asked. `scheme`: it is none of ours; `host`: the configuration does not allow
 * it.
 */
export class UrlRefused extends Error {
  readonly reason: 'scheme' | 'host';

  constructor(reason: 'scheme' | 'host', message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * The URL of a text. Only http and https, and no credentials in it: they would go to logs and
 * proxies.
 * @throws {UrlRefused} with reason `scheme`
 */
export function httpUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new UrlRefused('scheme', 'not a URL with http or https');
  if (url.username !== '' || url.password !== '') throw new UrlRefused('scheme', 'a URL with a user name or a password in it');
  return url;
}

/** Checks whether a text is a URL as `httpUrl` takes it. */
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
 * Hosts by their names, each with a port where one is given; `*.example.org` stands for all hosts
 * below a domain, `*.example.org:8080` for that port of them.
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

  has({ hostname, port, protocol }: URL): boolean {
    const host = hostname.toLowerCase().replace(/\.$/, '');
    const withPort = `${host}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
    return (
      this.#exact.has(host) ||
      this.#exact.has(withPort) ||
      this.#domains.some((domain) => host.endsWith(domain) || withPort.endsWith(domain))
    );
  }
}
