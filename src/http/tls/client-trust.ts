import { createHash, type X509Certificate } from 'node:crypto';
import { isIssuedBy } from '../../x509/issued-by.ts';
import { serialText, type CertificateList } from '../../revocation/certificate-list.ts';

/** A CRL whose signature holds, and the CA that signed it. */
export interface SignedList extends Pick<CertificateList, 'thisUpdate' | 'nextUpdate' | 'number'> {
  readonly der: Uint8Array;
  readonly authority: X509Certificate;
  /** Serial numbers in the form of `serialText`. */
  readonly revoked: { readonly size: number; has(serialNumber: string): boolean };
}

/** A CA of the clients, and the CRL of it that counts; undefined if there is none. */
export interface AuthorityList {
  readonly authority: X509Certificate;
  readonly list: SignedList | undefined;
}

/** Codes of OpenSSL's own verification, so that both say the same. */
export type Fault =
  | 'CERT_NOT_YET_VALID'
  | 'CERT_HAS_EXPIRED'
  | 'CERT_REVOKED'
  | 'CRL_HAS_EXPIRED'
  | 'UNABLE_TO_GET_CRL'
  | 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'
  | 'DEPTH_ZERO_SELF_SIGNED_CERT'
  | 'CERT_CHAIN_TOO_LONG';

/** Until when a client's certificate is valid, as far as is known now; or why it is not. */
export type Verdict = { readonly fault: Fault } | { readonly goodUntilMs: number };

const maxPathLength = 8;

/**
 * The clients that the API listener trusts: the CAs of the clients and their CRLs, as they were
 * read at one moment. TLS has each connection verified by OpenSSL once; this judges the same
 * certificates again while the connection lives, when time has passed and when CAs or CRLs were
 * replaced.
 */
export class ClientTrust {
  readonly #authorities: readonly X509Certificate[];
  readonly #lists: ReadonlyMap<string, SignedList>;
  readonly #checksRevocation: boolean;

  /** `lists`: undefined where revocation is not checked. */
  constructor(authorities: readonly X509Certificate[], lists: readonly SignedList[] | undefined) {
    this.#authorities = authorities;
    this.#checksRevocation = lists !== undefined;
    // Of several CRLs of one CA, the newest counts.
    const ascending = lists?.toSorted((one, other) => one.thisUpdate.getTime() - other.thisUpdate.getTime());
    this.#lists = new Map(ascending?.map((list) => [authorityKey(list.authority), list]));
  }

  /** Each CA with the CRL that counts, once; undefined where revocation is not checked. */
  get authorityLists(): readonly AuthorityList[] | undefined {
    if (!this.#checksRevocation) return undefined;
    const byKey = new Map(this.#authorities.map((authority) => [authorityKey(authority), authority]));
    return [...byKey].map(([key, authority]) => ({ authority, list: this.#lists.get(key) }));
  }

  /**
   * When the first of the CRLs expires; undefined where revocation is not checked, and 0 while a CA
   * has none.
   */
  get nextUpdateMs(): number | undefined {
    const lists = this.authorityLists;
    return lists && Math.min(...lists.map(({ list }) => list?.nextUpdate.getTime() ?? 0));
  }

  /**
   * CAs that a client sends along count for nothing: each CA that issues client certificates is
   * configured.
   */
  judge(certificate: X509Certificate, nowMs: number): Verdict {
    let goodUntilMs = Infinity;
    let current = certificate;
    for (let length = 0; length < maxPathLength; length += 1) {
      if (current.validFromDate.getTime() > nowMs) return { fault: 'CERT_NOT_YET_VALID' };
      // As OpenSSL has it, the last second does not count.
      const endMs = current.validToDate.getTime();
      if (endMs <= nowMs) return { fault: 'CERT_HAS_EXPIRED' };
      const issuer = this.#issuerOf(current, nowMs);
      if (issuer === undefined) {
        return { fault: current.checkIssued(current) ? 'DEPTH_ZERO_SELF_SIGNED_CERT' : 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY' };
      }
      const revocation = this.#revocation(current, issuer, nowMs);
      if ('fault' in revocation) return revocation;
      goodUntilMs = Math.min(goodUntilMs, endMs, revocation.goodUntilMs);
      if (current.checkIssued(current)) return { goodUntilMs };
      current = issuer;
    }
    return { fault: 'CERT_CHAIN_TOO_LONG' };
  }

  /** While a CA's certificate is renewed, both are configured: the one that is valid counts. */
  #issuerOf(certificate: X509Certificate, nowMs: number): X509Certificate | undefined {
    const issuers = this.#authorities.filter((authority) => isIssuedBy(certificate, authority));
    return (
      issuers.find(({ validFromDate, validToDate }) => validFromDate.getTime() <= nowMs && validToDate.getTime() > nowMs) ?? issuers[0]
    );
  }

  #revocation(certificate: X509Certificate, issuer: X509Certificate, nowMs: number): Verdict {
    if (!this.#checksRevocation) return { goodUntilMs: Infinity };
    const list = this.#lists.get(authorityKey(issuer));
    if (list === undefined) return { fault: 'UNABLE_TO_GET_CRL' };
    const endMs = list.nextUpdate.getTime();
    if (list.revoked.has(serialText(certificate.serialNumber))) return { fault: 'CERT_REVOKED' };
    return endMs <= nowMs ? { fault: 'CRL_HAS_EXPIRED' } : { goodUntilMs: endMs };
  }
}

/** A CA is its name and key: its certificate may be renewed. */
export function authorityKey(authority: X509Certificate): string {
  const key = createHash('sha256')
    .update(authority.publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
  return `${key} ${authority.subject}`;
}
