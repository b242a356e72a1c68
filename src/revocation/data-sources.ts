import { DerError } from '../asn1/reader.ts';
import { FetchFailed } from '../outgoing/outgoing-http.ts';
import { httpUrl, isHttpUrl } from '../outgoing/url-rules.ts';
import { undetermined, type CertificateStatus } from './status.ts';

/** Source of one kind of data: the URLs that the certificate names, or the given ones. */
export type DataSource = { readonly kind: 'CERTIFICATE' } | { readonly kind: 'CLIENT' | 'SERVER'; readonly urls: readonly URL[] };

export interface JudgedData {
  readonly status: CertificateStatus;
  readonly data?: Uint8Array | undefined;
}

/** Request for one kind of data. */
interface Asked {
  readonly source: DataSource;
  /** URLs named by the certificate. */
  readonly named: readonly string[];
  /** For messages: `CRL`, `OCSP responder`. */
  readonly what: string;
  readonly signal: AbortSignal | undefined;
}

/** How many of a certificate's URLs are tried. */
const namedMax = 8;

/**
 * Returns the result of the first URL that decides, else the last failure. Messages contain only
 * the host of a URL, since the rest may be confidential.
 */
export async function firstGood({ source, named, what, signal }: Asked, ask: (url: URL) => Promise<JudgedData>): Promise<JudgedData> {
  const urls = source.kind === 'CERTIFICATE' ? urlsOf(named).slice(0, namedMax) : source.urls;
  let last: JudgedData = { status: undetermined(`no ${what} is known for the certificate`) };
  const isTimedOut = (): boolean => signal?.aborted === true;
  for (const url of urls) {
    if (isTimedOut()) return { status: undetermined('the request timed out') };
    const failure = (why: string): JudgedData => ({ status: undetermined(`${what} at ${url.host} (${source.kind}): ${why}`) });
    try {
      const judged = await ask(url);
      if (judged.status.kind !== 'undetermined') return judged;
      last = failure(judged.status.why);
    } catch (error) {
      if (isTimedOut()) return { status: undetermined('the request timed out') };
      if (!(error instanceof FetchFailed || error instanceof DerError)) throw error;
      last = failure(error.message);
    }
  }
  return last;
}

/** Returns the HTTP URLs; other schemes, such as ldap, are ignored. */
function urlsOf(texts: readonly string[]): URL[] {
  return texts.filter(isHttpUrl).map(httpUrl);
}
