import type { Audit } from '../../audit/audit.ts';
import { RefusedClients } from '../../audit/refused-clients.ts';
import type { Logger } from '../../telemetry/log.ts';

const tellSeconds = 60;

/** The meaning of verification codes; a code that is not here stands for itself. */
const words: Readonly<Record<string, string>> = {
  CERT_NOT_YET_VALID: 'the client certificate, or one above it, is not valid yet',
  CERT_HAS_EXPIRED: 'the client certificate, or one above it, has expired',
  CERT_REVOKED: 'the client certificate, or one above it, is revoked',
  CERT_UNTRUSTED: 'the client certificate is not trusted',
  CERT_REJECTED: 'the client certificate is not trusted',
  CERT_SIGNATURE_FAILURE: 'a signature in the chain of the client certificate is wrong',
  CERT_CHAIN_TOO_LONG: 'the chain of the client certificate is too long',
  CRL_NOT_YET_VALID: 'the revocation list of the client CA is not valid yet',
  CRL_HAS_EXPIRED: 'the revocation list of the client CA has expired: install a newer one and reload',
  CRL_SIGNATURE_FAILURE: 'the signature of the revocation list is wrong',
  UNABLE_TO_GET_CRL: 'there is no revocation list of the CA that issued the client certificate',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the client certificate is issued by itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'the client certificate is of a CA that is not in listeners.api.clientCertificateAuthority',
  UNABLE_TO_GET_ISSUER_CERT: 'the client certificate is of a CA that is not in listeners.api.clientCertificateAuthority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the client certificate is of a CA that is not in listeners.api.clientCertificateAuthority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the client certificate is of a CA that is not in listeners.api.clientCertificateAuthority',
  INVALID_CA: 'the client certificate is issued by what is no CA',
  INVALID_PURPOSE: 'the client certificate is not for TLS clients',
  UNSPECIFIED: 'OpenSSL does not accept the client certificate',
};

/**
 * Reports refused clients to the audit log and to the log. The first refusal for a reason is logged
 * at once, those that follow within the minute in one line at its end. Reasons are a few texts of
 * this service, never what a client sent.
 */
export class Refusals {
  readonly #log: Logger;
  readonly #audit: Pick<Audit, 'refuseClient'>;
  readonly #counted: ((reason: string) => void) | undefined;
  readonly #told = new Set<string>();
  readonly #more = new RefusedClients();
  readonly #timer: NodeJS.Timeout;

  constructor(log: Logger, audit: Pick<Audit, 'refuseClient'>, counted?: (reason: string) => void) {
    this.#log = log;
    this.#audit = audit;
    this.#counted = counted;
    this.#timer = setInterval(() => {
      this.#tell();
    }, tellSeconds * 1000).unref();
  }

  /** `code`: of the verification or of the handshake. */
  refuse(code: string, address: string | undefined): void {
    const reason = words[code] === undefined ? code : `${words[code]} (${code})`;
    this.#audit.refuseClient(reason, address);
    this.#counted?.(code);
    if (this.#told.has(reason)) this.#more.add(reason, address);
    else {
      this.#told.add(reason);
      this.#log.warn('a client is refused', { reason, address });
    }
  }

  /** Logs what is left to log. */
  stop(): void {
    clearInterval(this.#timer);
    this.#tell();
  }

  #tell(): void {
    for (const { reason, count, since, address } of this.#more.take()) {
      this.#log.warn('more clients are refused', { reason, count, since, firstAddress: address });
    }
    this.#told.clear();
  }
}
