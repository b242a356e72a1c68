import { hash } from 'node:crypto';
import { DerError } from '../../asn1/reader.ts';
import type { OcspConfig } from '../../config/authority-config.ts';
import { holdReason } from '../../state/tables/revocation.ts';
import { StoreUnavailable } from '../../state/store-unavailable.ts';
import { TokenUnavailable } from '../../token/token.ts';
import type { CertificateIssuer } from '../issue.ts';
import { IssuerHashes, parseOcspRequest, type CertId, type OcspRequest, serialNumberText, storedForms } from './ocsp-request.ts';
import { AnswerCache } from './answer-cache.ts';
import { basicResponse, errorResponse, type CertStatus, type OcspError, type SingleResponse } from './ocsp-response.ts';
import { ResponderKeys, type ResponderTools } from './responder-keys.ts';
import { TooManySignatures, type SigningLimit } from './signing-limit.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';

/** An OCSPResponse and its HTTP caching metadata. */
export interface OcspAnswer {
  readonly der: Uint8Array;
  /** Outcome for metrics. */
  readonly outcome: 'signed' | OcspError;
  /** Absent if the response may not be cached: an error, or specific to one request. */
  readonly cacheable?: {
    readonly thisUpdate: Date;
    readonly nextUpdate: Date;
    /** Entity tag (RFC 9110 8.8.3): SHA-256 of the DER, base64url. */
    readonly etag: string;
    readonly maxAgeSeconds: number;
  };
}

interface ResponderOptions {
  readonly issuer: CertificateIssuer;
  readonly config: OcspConfig & { readonly keepExpired: boolean };
  /** Serial numbers (hexadecimal) of the certificates of authorities that this one issued. */
  readonly issuedAuthorities: ReadonlySet<string>;
  readonly limit: SigningLimit;
}

interface SignedAnswer {
  readonly answer: OcspAnswer;
  /** Whether every certificate was issued. */
  readonly isIssued: boolean;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
}

/** How many certificates have cached responses; about 20 MB. */
const keptCertificatesMax = 10_000;
/** How many request texts are cached; about 5 MB at the length that real clients send. */
const knownTextsMax = 10_000;
const knownTextMaxCharacters = 512;
/** A certificate that was never issued is reported as on hold since the epoch (RFC 6960 §2.2). */
const neverIssued: CertStatus = { kind: 'revoked', revokedAt: new Date(0), reason: holdReason };

/**
 * OCSP responder of an authority (RFC 6960). Responses reflect the state store at the time of the
 * request, whichever instance changed it.
 */
export class OcspResponder {
  readonly keys: ResponderKeys;
  readonly #tools: ResponderTools;
  readonly #authority: string;
  readonly #options: ResponderOptions;
  readonly #hashes: IssuerHashes;
  readonly #kept: AnswerCache<OcspAnswer>;
  /** Parsed CertIDs of frequent request texts; parsing costs more than all other work. */
  readonly #known = new Map<string, CertId>();

  constructor(tools: ResponderTools, authority: string, options: ResponderOptions) {
    this.#tools = tools;
    this.#kept = new AnswerCache<OcspAnswer>(keptCertificatesMax, () => tools.store.now());
    this.#authority = authority;
    this.#options = options;
    this.keys = new ResponderKeys(tools, authority, options);
    this.#hashes = new IssuerHashes(options.issuer.certificate);
  }

  /**
   * Notifies that the certificate with this serial number (hexadecimal) was revoked, held or
   * released.
   */
  changed(serialNumber: string): void {
    this.#kept.forget(serialNumberText(serialNumber));
  }

  /** Notifies that anything may have changed. */
  everythingChanged(): void {
    this.#kept.forgetAll();
  }

  /**
   * Answers an OCSPRequest, whatever the bytes are. Never throws: errors are responses too (RFC
   * 6960 §2.3).
   */
  answer(request: Uint8Array): OcspAnswer | Promise<OcspAnswer> {
    return this.#caught(() => this.#answer(parseOcspRequest(request)));
  }

  /**
   * Does the same for a request that `decode` extracts from a text such as a path; undefined if
   * there is none. A request without a nonce is cached by its text.
   */
  answerText(text: string, decode: (text: string) => Uint8Array | undefined): OcspAnswer | Promise<OcspAnswer> {
    const certId = this.#known.get(text);
    if (certId !== undefined) return this.#answerAbout(certId);
    const request = decode(text);
    if (request === undefined) return unsignedAnswer('malformedRequest');
    return this.#caught(() => {
      const parsed = parseOcspRequest(request);
      const [first] = parsed.certIds;
      if (text.length > knownTextMaxCharacters) return this.#answer(parsed);
      if (first !== undefined && parsed.certIds.length === 1 && parsed.nonce === undefined && this.#hashes.matches(first)) {
        if (this.#known.size >= knownTextsMax) this.#known.clear();
        this.#known.set(text, first);
      }
      return this.#answer(parsed);
    });
  }

  /**
   * Returns an OCSPResponse for the service itself, exempt from the limit for external requests.
   * @throws {Error} if none can be made
   */
  async ownAnswer(request: Uint8Array): Promise<Uint8Array> {
    const answer = await this.answer(request);
    return answer.outcome === 'tryLater' ? (await this.#sign(parseOcspRequest(request))).answer.der : answer.der;
  }

  #caught(work: () => OcspAnswer | Promise<OcspAnswer>): OcspAnswer | Promise<OcspAnswer> {
    try {
      const answer = work();
      return answer instanceof Promise ? answer.catch((error: unknown) => this.#failed(error)) : answer;
    } catch (error) {
      return this.#failed(error);
    }
  }

  #answer(request: OcspRequest): OcspAnswer | Promise<OcspAnswer> {
    const { certIds, nonce } = request;
    // RFC 6960 §2.3, 4.2.2.2: this responder is not authorised for another authority's
    // certificates; clients would reject a response that contains one.
    if (!certIds.every((certId) => this.#hashes.matches(certId))) return unsignedAnswer('unauthorized');
    const [certId] = certIds;
    return certId === undefined || certIds.length > 1 || nonce !== undefined ? this.#freshAnswer(request) : this.#answerAbout(certId);
  }

  /** Answers about one certificate; the response may be shared. */
  #answerAbout(certId: CertId): OcspAnswer | Promise<OcspAnswer> {
    const { store } = this.#tools;
    return this.#caught(() => (store.isShared ? store.refresh().then(() => this.#keptAnswer(certId)) : this.#keptAnswer(certId)));
  }

  #keptAnswer(certId: CertId): OcspAnswer | Promise<OcspAnswer> {
    // Apart from the serial number, a CertID has one of a few forms, each of a different length.
    return this.#kept.get(certId.serialNumber, certId.der.length, async () => this.#answerToKeep(certId));
  }

  async #answerToKeep(certId: CertId): Promise<{ answer: OcspAnswer; untilMs: number | undefined }> {
    const { lifetimeSeconds, renewBeforeSeconds, cacheSeconds } = this.#options.config;
    const { answer, isIssued, thisUpdate, nextUpdate } = await this.#signed({ certIds: [certId] });
    // A certificate that was never issued may yet be issued.
    if (!isIssued) return { answer, untilMs: undefined };
    const etag = `"${hash('sha256', answer.der, 'base64url')}"`;
    const maxAgeSeconds = Math.min(cacheSeconds, lifetimeSeconds);
    const untilMs = nextUpdate.getTime() - renewBeforeSeconds * 1000;
    return { answer: { ...answer, cacheable: { thisUpdate, nextUpdate, etag, maxAgeSeconds } }, untilMs };
  }

  async #freshAnswer(request: OcspRequest): Promise<OcspAnswer> {
    return (await this.#signed(request)).answer;
  }

  async #signed(request: OcspRequest): Promise<SignedAnswer> {
    return this.#options.limit.run(async () => this.#sign(request));
  }

  async #sign({ certIds, nonce }: OcspRequest): Promise<SignedAnswer> {
    const signer = this.keys.current;
    if (signer === undefined) throw new NoResponder();
    const { keepExpired, lifetimeSeconds } = this.#options.config;
    const thisUpdate = new Date(Math.floor(this.#tools.store.now() / 1000) * 1000);
    // The response cannot be verified once the responder's certificate has expired.
    const nextUpdate = new Date(Math.min(thisUpdate.getTime() + lifetimeSeconds * 1000, signer.notAfter.getTime()));
    const { responses, extendedRevoke, isIssued } = await this.#responses(certIds);
    const archiveCutoff = keepExpired ? this.#options.issuer.certificate.notBefore : undefined;
    const der = await basicResponse(signer, { responses, thisUpdate, nextUpdate, nonce, archiveCutoff, extendedRevoke });
    return { answer: { der, outcome: 'signed' }, isIssued, thisUpdate, nextUpdate };
  }

  async #responses(certIds: readonly CertId[]): Promise<{ responses: SingleResponse[]; extendedRevoke: boolean; isIssued: boolean }> {
    const rows = await this.#tools.store.run('serialStatuses', {
      authority: this.#authority,
      serialNumbers: [...new Set(certIds.flatMap((certId) => storedForms(certId.serialNumber)))],
    });
    const issued = new Set(rows.map(({ serial_number: serialNumber }) => serialNumberText(serialNumber)));
    const revoked = new Map<string, CertStatus>();
    for (const { serial_number: serialNumber, reason, revoked_at: revokedAt } of rows) {
      if (reason === null || revokedAt === null) continue;
      revoked.set(serialNumberText(serialNumber), { kind: 'revoked', revokedAt: new Date(revokedAt), reason });
    }
    const isKnown = (text: string): boolean => issued.has(text) || this.#options.issuedAuthorities.has(text);
    const missing = certIds.filter((certId) => !isKnown(certId.serialNumber));
    const ofMissing: CertStatus = this.#options.config.neverIssued === 'revoked' ? neverIssued : { kind: 'unknown' };
    const responses = certIds.map(({ der: certId, serialNumber: text }): SingleResponse => {
      const status = revoked.get(text) ?? (isKnown(text) ? { kind: 'good' } : ofMissing);
      return { certId, status };
    });
    return { responses, extendedRevoke: missing.length > 0 && ofMissing.kind === 'revoked', isIssued: missing.length === 0 };
  }

  #failed(error: unknown): OcspAnswer {
    if (error instanceof DerError) return unsignedAnswer('malformedRequest');
    const isTemporary =
      error instanceof TooManySignatures ||
      error instanceof TokenUnavailable ||
      error instanceof StoreUnavailable ||
      error instanceof NoResponder;
    if (isTemporary) return unsignedAnswer('tryLater');
    const reason = reasonOf(error);
    this.#tools.log.error('an OCSP request could not be answered', { authority: this.#authority, reason });
    return unsignedAnswer('internalError');
  }
}

/** The responder has no key and certificate yet. */
class NoResponder extends Error {}

function unsignedAnswer(error: OcspError): OcspAnswer {
  return { der: errorResponse(error), outcome: error };
}
