import { DerError } from '../asn1/reader.ts';
import { FetchFailed } from '../outgoing/outgoing-http.ts';
import { httpUrl, isHttpUrl, notVouchedFor } from '../outgoing/url-rules.ts';
import { undetermined, type CertificateStatus, type Undetermined } from './status.ts';

/** Source of one kind of data: the URLs that the certificate names, or the given ones. */
export type DataSource = { readonly kind: 'CERTIFICATE' } | { readonly kind: 'CLIENT' | 'SERVER'; readonly urls: readonly URL[] };

export interface JudgedData {
  readonly status: CertificateStatus;
  readonly data?: Uint8Array | undefined;
}

/** Thrown for data that was fetched, but does not determine the status, so it is not cached. */
export class NotDetermined extends Error {
  readonly status: Undetermined;

  constructor(status: Undetermined) {
    super(status.why);
    this.status = status;
  }
}

/** Request for one kind of data. */
interface Asked {
  readonly source: DataSource;
  /** URLs named by the certificate. */
  readonly named: readonly string[];
  /**
   * Whether a URL named by the certificate may be asked although no configured authority vouches
   * for the certificate; undefined if one does.
   */
  readonly mayBeNamed: ((url: URL) => boolean) | undefined;
  /** For messages: `CRL`, `OCSP responder`. */
  readonly what: string;
  readonly signal: AbortSignal | undefined;
}

const hidden = undetermined('no valid answer');

/** How many of a certificate's URLs are tried. */
const namedMax = 8;

/**
 * Whether a caller chose the addresses. How an exchange with such a server failed would tell the
 * caller about servers that it cannot reach itself.
 */
export function isCallersChoice({ source, mayBeNamed }: Pick<Asked, 'source' | 'mayBeNamed'>): boolean {
  return source.kind === 'CLIENT' || (source.kind === 'CERTIFICATE' && mayBeNamed !== undefined);
}

/**
 * Returns the result of the first URL that decides, else the last authentic answer that leaves the
 * status open, else the last failure. Messages contain only the host of a URL, since the rest may
 * be confidential; of addresses that a caller chose, they do not tell one failure from another.
 */
export async function firstGood(asked: Asked, ask: (url: URL) => Promise<JudgedData>): Promise<JudgedData> {
  const { source, named, mayBeNamed, what, signal } = asked;
  const inCertificate = source.kind === 'CERTIFICATE' ? urlsOf(named) : [];
  const allowed = mayBeNamed === undefined ? inCertificate : inCertificate.filter(mayBeNamed);
  const urls = source.kind === 'CERTIFICATE' ? allowed.slice(0, namedMax) : source.urls;
  const isHidden = isCallersChoice(asked);
  const [refused] = allowed.length === 0 ? inCertificate : [];
  let last = undetermined(
    refused === undefined
      ? `no ${what} is known for the certificate`
      : `the ${what} that it names is not asked for: ${notVouchedFor(refused)}`,
  );
  const fails = (status: Undetermined): void => {
    if (status.isAnswered === true || last.isAnswered !== true) last = status;
  };
  const isTimedOut = (): boolean => signal?.aborted === true;
  const timedOut = undetermined('the request timed out');
  for (const url of urls) {
    if (isTimedOut()) {
      fails(timedOut);
      break;
    }
    const atHost = (status: Undetermined): Undetermined => ({ ...status, why: `${what} at ${url.host} (${source.kind}): ${status.why}` });
    try {
      const judged = await ask(url);
      if (judged.status.kind !== 'undetermined') return judged;
      fails(atHost(judged.status));
    } catch (error) {
      if (isTimedOut()) fails(timedOut);
      else if (error instanceof NotDetermined) fails(atHost(isHidden && error.status.isAnswered !== true ? hidden : error.status));
      else if (error instanceof FetchFailed || error instanceof DerError) fails(atHost(isHidden ? hidden : undetermined(error.message)));
      else throw error;
    }
  }
  return { status: last };
}

/** Returns the HTTP URLs; other schemes, such as ldap, are ignored. */
function urlsOf(texts: readonly string[]): URL[] {
  return texts.filter(isHttpUrl).map(httpUrl);
}
