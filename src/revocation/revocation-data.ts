import { createHash, randomBytes } from 'node:crypto';
import type { PathCertificate } from '../x509/path/path-certificate.ts';
import { verifyAhead } from '../x509/known-signatures.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { reasonCode } from '../certificates/revocation-reasons.ts';
import type { OutgoingHttp } from '../outgoing/outgoing-http.ts';
import { crlFault, crlStatus, ocspStatus, signaturesOf, undetermined, type CertificateStatus } from './status.ts';
import type { Crl } from './crl.ts';
import { lookUpAhead, readSentCrl, type CrlUse } from './large-crl.ts';
import { firstGood, isCallersChoice, NotDetermined, type DataSource, type JudgedData } from './data-sources.ts';
import { KeptData, type Fetched } from './kept-data.ts';
import { ocspRequest, readOcspAnswer, type OcspAnswer } from './ocsp-answer.ts';
import { reasonOf } from '../telemetry/reason-of.ts';

export type { DataSource };

/** Revocation data wanted for one certificate (contract §5, formats.md: Revocation data). */
export interface WantedData {
  /** Absent: OCSP if the certificate names a responder, else CRL. */
  readonly choice?: 'OCSP' | 'CRL' | 'BOTH' | undefined;
  readonly ocsp: DataSource;
  readonly crl: DataSource;
}

/** Revocation data obtained for one certificate. */
export interface RevocationData {
  readonly status: CertificateStatus;
  /** In DER, unchanged, to be embedded in signatures. */
  readonly crls: readonly Uint8Array[];
  /** OCSPResponse in DER. */
  readonly ocspAnswers: readonly Uint8Array[];
}

/** An authority of this service, which is asked without HTTP. */
export interface OwnAuthority {
  /**
   * Returns a CRL made at `since` or later. Absent if another system issues them.
   * @throws {Error} if none is available now
   */
  readonly crl?: ((since: Date) => Promise<Uint8Array>) | undefined;
  readonly ocspAnswer?: ((request: Uint8Array) => Promise<Uint8Array>) | undefined;
}

export interface RevocationQuestion {
  readonly certificate: PathCertificate;
  readonly issuer: PathCertificate;
  /** Other certificates with the issuer's name and a valid path; their keys may sign CRLs. */
  readonly otherIssuers?: readonly PathCertificate[];
  readonly wanted: WantedData;
  /**
   * Whether a configured authority vouches for the certificate. If none does, only those of its
   * servers are asked that callers may name.
   */
  readonly isVouchedFor: boolean;
  readonly at: Date;
  /** Once aborted, no further server is asked. */
  readonly signal?: AbortSignal | undefined;
}

const crlMaxBytes = 64 * 1024 * 1024;
const ocspMaxBytes = 64 * 1024;
const keptCrlBytes = 128 * 1024 * 1024;
const keptOcspBytes = 16 * 1024 * 1024;
const nonceBytes = 16;
/** How long data without nextUpdate is cached. */
const keptWithoutEndMs = 60_000;

/** Cached data, shared by all tenants. */
class Kept {
  readonly crls = new KeptData<Crl>(keptCrlBytes);
  /** Parsed CRLs of own authorities, which return the same bytes until the next CRL. */
  readonly ownCrls = new WeakMap<Uint8Array, Crl>();
  readonly ocspAnswers = new KeptData<OcspAnswer>(keptOcspBytes);
}

/**
 * Fetches revocation data, checks it, and caches it while it is valid. Only data signed by its
 * issuer is cached.
 */
export class RevocationSources {
  readonly #http: OutgoingHttp;
  readonly #threads: Pick<WorkThreads, 'run'>;
  readonly #own: (issuer: PathCertificate) => OwnAuthority | undefined;
  readonly #kept: Kept;
  readonly #tenant: string | undefined;

  constructor(
    http: OutgoingHttp,
    threads: Pick<WorkThreads, 'run'>,
    own: (issuer: PathCertificate) => OwnAuthority | undefined = () => undefined,
    forTenant?: { readonly tenant: string; readonly kept: Kept },
  ) {
    this.#http = http;
    this.#threads = threads;
    this.#own = own;
    this.#kept = forTenant?.kept ?? new Kept();
    this.#tenant = forTenant?.tenant;
  }

  /** Returns the sources for requests of one tenant. */
  ofTenant(tenant: string): RevocationSources {
    return new RevocationSources(this.#http.ofTenant(tenant), this.#threads, this.#own, { tenant, kept: this.#kept });
  }

  /**
   * Returns revocation data. If it cannot be obtained, the status is undetermined and gives the
   * reason; nothing is thrown.
   */
  async of(question: RevocationQuestion): Promise<RevocationData> {
    const { certificate, wanted } = question;
    const own = this.#own(question.issuer);
    // A retired authority of this service has a CRL, and no responder at the URL in its certificates.
    const hasOcsp = own?.ocspAnswer !== undefined || (own?.crl === undefined && certificate.ocspUrls.length > 0);
    const choice = wanted.choice ?? (hasOcsp ? 'OCSP' : 'CRL');
    const [ocsp, crl] = await Promise.all([
      choice === 'CRL' ? undefined : this.#byOcsp(question),
      choice === 'OCSP' ? undefined : this.#byCrl(question),
    ]);
    const given = [ocsp, crl].filter((one) => one !== undefined).map(({ status }) => status);
    const open = given.filter((status) => status.kind === 'undetermined');
    return {
      status: given.find(({ kind }) => kind === 'revoked') ??
        open.find(({ isAnswered }) => isAnswered === true) ??
        open[0] ?? { kind: 'good' },
      crls: crl?.data === undefined ? [] : [crl.data],
      ocspAnswers: ocsp?.data === undefined ? [] : [ocsp.data],
    };
  }

  async #byOcsp({ certificate, issuer, wanted, isVouchedFor, at, signal }: RevocationQuestion): Promise<JudgedData> {
    const ownAnswer = wanted.ocsp.kind === 'CLIENT' ? undefined : this.#own(issuer)?.ocspAnswer;
    if (ownAnswer !== undefined) return ownOcsp(ownAnswer, { certificate, issuer, at });
    const judge = (answer: OcspAnswer, nonce?: Uint8Array): CertificateStatus => ocspStatus(answer, { certificate, issuer, at, nonce });
    const suits = (answer: OcspAnswer): boolean => judge(answer).kind !== 'undetermined';
    const asked = {
      source: wanted.ocsp,
      named: certificate.ocspUrls,
      mayBeNamed: this.#mayBeNamed(isVouchedFor),
      what: 'OCSP responder',
      signal,
    };
    return firstGood(asked, async (url) => {
      const ask = async (ending: AbortSignal): Promise<Fetched<OcspAnswer>> => {
        const nonce = randomBytes(nonceBytes);
        const body = ocspRequest(certificate, issuer, nonce);
        const headers = { 'Content-Type': 'application/ocsp-request', Accept: 'application/ocsp-response' };
        const order = { url, method: 'POST', headers, body, answerMaxBytes: ocspMaxBytes, signal: ending } as const;
        return this.#http.fetchAs(order, async (bytes) => {
          const value = readOcspAnswer(bytes);
          await verifyAhead(signaturesOf(value, issuer), this.#threads);
          const status = judge(value, nonce);
          if (status.kind === 'undetermined') throw new NotDetermined(status);
          return { value, bytes: bytes.length, until: ocspEnd(value, at) };
        });
      };
      const key = `${this.#keyOf(isCallersChoice(asked), url, [issuer])} ${Buffer.from(certificate.serialNumber).toString('hex')}`;
      const answer = await this.#kept.ocspAnswers.get(key, at, { suits, ask, signal });
      return { status: judge(answer), data: answer.der };
    });
  }

  async #byCrl(question: RevocationQuestion): Promise<JudgedData> {
    const { certificate, issuer, otherIssuers = [], wanted, isVouchedFor, at, signal } = question;
    const issuers = [issuer, ...otherIssuers];
    const use = { certificate, issuers };
    const judge = (crl: Crl): CertificateStatus => crlStatus(crl, { certificate, issuers, at });
    const own = this.#own(issuer)?.crl;
    if (own !== undefined && wanted.crl.kind !== 'CLIENT') {
      try {
        const last = await this.#ownCrl(own, certificate.notBefore, use);
        const status = judge(last);
        // A certificate that was on hold when the CRL was made may have been released since.
        const isOnHold = status.kind === 'revoked' && status.reason === reasonCode('CERTIFICATE_HOLD');
        const crl = isOnHold ? await this.#ownCrl(own, at, use) : last;
        return { status: judge(crl), data: crl.der };
      } catch (error) {
        return { status: undetermined(`the authority's own CRL: ${reasonOf(error)}`) };
      }
    }
    // A caller may give the URL at which this service itself publishes: that CRL must be current
    // too, so an older cached one is not used.
    const published = own === undefined ? undefined : await this.#ownCrl(own, certificate.notBefore, use).catch(() => undefined);
    const named = certificate.distributionPoints.flatMap((name) => (name.kind === 'uri' ? [name.text] : []));
    const asked = { source: wanted.crl, named, mayBeNamed: this.#mayBeNamed(isVouchedFor), what: 'CRL', signal };
    return firstGood(asked, async (url) => {
      // A CRL that predates the certificate says nothing about it; there may be a newer one.
      const suits = async (crl: Crl): Promise<boolean> => {
        await lookUpAhead(crl, use, this.#threads);
        return judge(crl).kind !== 'undetermined' && crl.thisUpdate >= certificate.notBefore;
      };
      const ask = async (ending: AbortSignal): Promise<Fetched<Crl>> =>
        this.#http.fetchAs({ url, method: 'GET', answerMaxBytes: crlMaxBytes, signal: ending }, async (body) => {
          const value = await readSentCrl(body, use, this.#threads);
          // The connection is not trusted: a list that the issuer did not sign is not cached.
          const status = judge(value);
          if (status.kind === 'undetermined' && crlFault(value, { issuers, at }) !== undefined) throw new NotDetermined(status);
          return { value, bytes: value.der.length, until: value.nextUpdate?.getTime() ?? at.getTime() };
        });
      const key = `${this.#keyOf(isCallersChoice(asked), url, issuers)} ${published?.thisUpdate.getTime() ?? ''}`;
      const crl = await this.#kept.crls.get(key, at, { suits, ask, signal });
      await lookUpAhead(crl, use, this.#threads);
      return { status: judge(crl), data: crl.der };
    });
  }

  /**
   * Returns the authority's own CRL, parsed once for each issue.
   * @throws {Error} if there is none
   */
  async #ownCrl(madeSince: NonNullable<OwnAuthority['crl']>, time: Date, use: CrlUse): Promise<Crl> {
    const der = await madeSince(time);
    const crl = this.#kept.ownCrls.get(der) ?? (await readSentCrl(der, use, this.#threads));
    this.#kept.ownCrls.set(der, crl);
    await lookUpAhead(crl, use, this.#threads);
    return crl;
  }

  #mayBeNamed(isVouchedFor: boolean): ((url: URL) => boolean) | undefined {
    return isVouchedFor ? undefined : (url) => this.#http.isClientHost(url);
  }

  /**
   * Returns the cache key: same URL and same issuers. Data from a URL that a caller chose is kept
   * apart for each tenant.
   */
  #keyOf(isChosen: boolean, { href }: URL, issuers: readonly PathCertificate[]): string {
    const identities = issuers.map(({ subjectName, subjectPublicKeyInfo }) => hashOf(subjectName.key, subjectPublicKeyInfo));
    return JSON.stringify([isChosen ? { of: this.#tenant } : null, href, identities]);
  }
}

/** Asks an authority of this service about a certificate. */
async function ownOcsp(
  answerTo: NonNullable<OwnAuthority['ocspAnswer']>,
  question: Pick<RevocationQuestion, 'certificate' | 'issuer' | 'at'>,
): Promise<JudgedData> {
  try {
    const answer = readOcspAnswer(await answerTo(ocspRequest(question.certificate, question.issuer, undefined)));
    return { status: ocspStatus(answer, question), data: answer.der };
  } catch (error) {
    return { status: undetermined(`the authority's own OCSP responder: ${reasonOf(error)}`) };
  }
}

function ocspEnd({ answers }: OcspAnswer, at: Date): number {
  return Math.min(...answers.map(({ nextUpdate }) => nextUpdate?.getTime() ?? at.getTime() + keptWithoutEndMs));
}

function hashOf(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(createHash('sha256').update(part).digest());
  return hash.digest('base64');
}
