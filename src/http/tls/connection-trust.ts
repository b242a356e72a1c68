import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { spkiSha256 } from '../../clients/registry.ts';
import type { ClientTrust, Verdict } from './client-trust.ts';

interface Admitted {
  readonly spki: string;
  readonly certificate: X509Certificate;
  judgedBy: ClientTrust;
  goodUntilMs: number;
}

const admitted = new WeakMap<object, Admitted>();

/**
 * Returns the public key behind an admitted connection: SHA-256 of its SubjectPublicKeyInfo,
 * hexadecimal.
 */
export function spkiBehind(socket: object): string | undefined {
  return admitted.get(socket)?.spki;
}

/** Returns the certificate of an admitted connection. */
export function certificateBehind(socket: object): X509Certificate | undefined {
  return admitted.get(socket)?.certificate;
}

/** Decides who may speak HTTP: when a connection is made, and again for each request on it. */
export class ConnectionTrust {
  #trust: ClientTrust;

  constructor(trust: ClientTrust) {
    this.#trust = trust;
  }

  /**
   * Puts other CAs and CRLs in force, for the open connections too: each is judged anew at its next
   * request.
   */
  trust(trust: ClientTrust): void {
    this.#trust = trust;
  }

  /** Returns after the handshake why the connection is refused; undefined if it is not. */
  admit(socket: TLSSocket): string | undefined {
    const certificate = socket.getPeerX509Certificate();
    if (!(certificate instanceof X509Certificate)) return 'no client certificate';
    const verdict = this.#trust.judge(certificate, Date.now());
    // Ours first: of several faults OpenSSL reports the last, which may be that a stranger's CA has
    // no CRL here.
    if ('fault' in verdict) return verdict.fault;
    // Node types this as an Error; it is the name of the verification error.
    if (!socket.authorized) return String(socket.authorizationError);
    admitted.set(socket, { spki: spkiSha256(certificate), certificate, judgedBy: this.#trust, goodUntilMs: verdict.goodUntilMs });
    return undefined;
  }

  /**
   * Returns why a request is not served; undefined if it is. Two comparisons, unless time ran out
   * or CAs or CRLs were replaced.
   */
  recheck(socket: object): string | undefined {
    const connection = admitted.get(socket);
    if (connection === undefined) return 'not admitted';
    const nowMs = Date.now();
    if (connection.judgedBy === this.#trust && nowMs < connection.goodUntilMs) return undefined;
    const verdict: Verdict = this.#trust.judge(connection.certificate, nowMs);
    if ('fault' in verdict) return verdict.fault;
    connection.judgedBy = this.#trust;
    connection.goodUntilMs = verdict.goodUntilMs;
    return undefined;
  }
}
