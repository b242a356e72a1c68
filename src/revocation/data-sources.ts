import { DerError } from '../asn1/reader.ts';
import { FetchFailed } from '../outgoing/outgoing-http.ts';
import { httpUrl, isHttpUrl } from '../outgoing/url-rules.ts';
import { undetermined, type CertificateStatus } from './status.ts';

/** Where one kind of data comes from: the addresses that the certificate names, or these. */
export type DataSource = { readonly kind: 'CERTIFICATE' } | { readonly kind: 'CLIENT' | 'SERVER'; readonly urls: readonly URL[] };

export interface Judged {
  readonly status: CertificateStatus;
  readonly data?: Uint8Array | undefined;
}

/** Who asks which addresses, for what. */
interface Asked {
  readonly source: DataSource;
  /** What the certificate itself names. */
  readonly named: readonly string[];
  /** For messages: `CRL`, `OCSP responder`. */
  readonly what: string;
  readonly signal: AbortSignal | undefined;
}

/** A certificate that names more addresses makes nobody ask them all. */
const namedMax = 8;

/** The first address that decides. The last failure is told where none does: of an address its host alone, since it may hold what only the operator knows. */
export async function firstGood({ source, named, what, signal }: Asked, ask: (url: URL) => Promise<Judged>): Promise<Judged> {
  const urls = source.kind === 'CERTIFICATE' ? urlsOf(named).slice(0, namedMax) : source.urls;
  let last: Judged = { status: undetermined(`no ${what} is named for the certificate`) };
  const isOver = (): boolean => signal?.aborted === true;
  for (const url of urls) {
    if (isOver()) return { status: undetermined('the time of the request is over') };
    const told = (why: string): Judged => ({ status: undetermined(`${what} at ${url.host} (${source.kind}): ${why}`) });
    try {
      const judged = await ask(url);
      if (judged.status.kind !== 'undetermined') return judged;
      last = told(judged.status.why);
    } catch (error) {
      if (isOver()) return { status: undetermined('the time of the request is over') };
      if (!(error instanceof FetchFailed || error instanceof DerError)) throw error;
      last = told(error.message);
    }
  }
  return last;
}

/** Other schemes, such as ldap, are passed over. */
function urlsOf(texts: readonly string[]): URL[] {
  return texts.filter(isHttpUrl).map(httpUrl);
}
